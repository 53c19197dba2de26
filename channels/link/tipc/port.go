package tipc

import (
	"fmt"
	"os"
	"score/channels/link"
	"score/channels/link/mmsg"

	"golang.org/x/sys/unix"
)

// Port is a [link.Port] on a TIPC socket.
type Port struct {
	fd    int
	file  *os.File
	stats link.Stats
	out   sender
	in    receiver
}

var _ link.Port = (*Port)(nil)

// New makes a port of a socket, such as [Listen] opens, and owns the file from then on, unless
// there is an error.
func New(file *os.File) (*Port, error) {
	raw, err := file.SyscallConn()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSocket, err)
	}
	p := &Port{file: file}
	if err := raw.Control(func(fd uintptr) { p.fd = int(fd) }); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSocket, err)
	}
	domain, err1 := unix.GetsockoptInt(p.fd, unix.SOL_SOCKET, unix.SO_DOMAIN)
	kind, err2 := unix.GetsockoptInt(p.fd, unix.SOL_SOCKET, unix.SO_TYPE)
	if err1 != nil || err2 != nil || domain != unix.AF_TIPC || kind != unix.SOCK_RDM {
		return nil, ErrSocket
	}
	return p, nil
}

// Descriptor is the socket's, to wait on. It is the port's.
func (p *Port) Descriptor() int { return p.fd }

// Local implements link.Port. The node has no number before the kernel's TIPC joins a network, and
// gets one then.
func (p *Port) Local() link.Address {
	a, _ := mmsg.LocalAddress(p.fd) // none if the kernel does not say
	return a
}

// Size implements link.Port. The kernel cuts what its bearers do not take in one piece, and sends
// the pieces again itself.
func (p *Port) Size(link.Address) int { return link.MaxDatagram }

// Stats implements link.Port.
func (p *Port) Stats() link.Stats {
	s := p.stats
	s.Overflowed = mmsg.Overflowed(p.fd)
	return s
}

// Close implements link.Port.
func (p *Port) Close() error { return p.file.Close() }
