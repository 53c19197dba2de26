package udp

import (
	"errors"
	"fmt"
	"os"
	"score/channels/link"
	"score/channels/link/mmsg"

	"golang.org/x/sys/unix"
)

// ErrSocket means that a descriptor is not an IP socket for datagrams.
var ErrSocket = errors.New("udp: not a UDP socket")

// Port is a [link.Port] on a UDP socket.
type Port struct {
	fd    int
	file  *os.File
	local link.Address
	stats link.Stats
	paths paths
	out   sender
	in    receiver
	conn  connected
	gso   bool // the kernel cuts long datagrams into segments
	gro   bool // it can join what it receives
	joins bool // this port has asked for that
	idle  int  // calls that found nothing since
}

var (
	_ link.Port      = (*Port)(nil)
	_ link.Connecter = (*Port)(nil)
	_ link.Guarded   = (*Port)(nil)
	_ link.Borrower  = (*Port)(nil)
)

// New makes a port of a bound socket, such as [Listen] opens, and owns the file from then on,
// unless there is an error.
func New(file *os.File) (*Port, error) {
	fd, err := descriptor(file)
	if err != nil {
		return nil, err
	}
	local, err := mmsg.LocalAddress(fd)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSocket, err)
	}
	if kind, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TYPE); err != nil || kind != unix.SOCK_DGRAM || local.None() {
		return nil, ErrSocket
	}
	p := &Port{fd: fd, file: file, local: local, conn: connected{fd: -1}}
	p.gso = segments(fd)
	p.gro = knowsJoining(fd)
	p.stopFragments(fd)
	return p, nil
}

// descriptor is the file's, without the change of its mode that Fd makes.
func descriptor(file *os.File) (fd int, err error) {
	raw, err := file.SyscallConn()
	if err != nil {
		return -1, fmt.Errorf("%w: %w", ErrSocket, err)
	}
	if err := raw.Control(func(n uintptr) { fd = int(n) }); err != nil {
		return -1, fmt.Errorf("%w: %w", ErrSocket, err)
	}
	return fd, nil
}

// segments reports whether the kernel knows UDP_SEGMENT (Linux 4.18).
func segments(fd int) bool {
	_, err := unix.GetsockoptInt(fd, unix.IPPROTO_UDP, unix.UDP_SEGMENT)
	return err == nil
}

// knowsJoining reports whether the kernel knows UDP_GRO (Linux 5.0).
func knowsJoining(fd int) bool {
	_, err := unix.GetsockoptInt(fd, unix.IPPROTO_UDP, unix.UDP_GRO)
	return err == nil
}

// setGRO asks the kernel to join what it receives, or not to: that is worth much in a stream, and
// costs a lone datagram a tenth of a microsecond.
func (p *Port) setGRO(on bool) {
	value := 0
	if on {
		value = 1
	}
	p.idle = 0
	p.joins = unix.SetsockoptInt(p.fd, unix.IPPROTO_UDP, unix.UDP_GRO, value) == nil && on
}

// Descriptor is the socket's, to wait on. It is the port's.
func (p *Port) Descriptor() int { return p.fd }

// Local is the address that the socket is bound to.
func (p *Port) Local() link.Address { return p.local }

// Stats implements link.Port.
func (p *Port) Stats() link.Stats {
	s := p.stats
	s.Overflowed = mmsg.Overflowed(p.fd)
	return s
}

// Close implements link.Port.
func (p *Port) Close() error {
	p.disconnect()
	return p.file.Close()
}
