package udp

import (
	"fmt"
	"net/netip"
	"os"
	"score/channels/link"
	"score/channels/link/mmsg"

	"golang.org/x/sys/unix"
)

// bulkQueueBytes is what a bulk socket's queues may hold: a reader never asks for more.
const bulkQueueBytes = 4 << 20

// Bulk is a [link.Bulk] on a UDP socket.
type Bulk struct {
	port  *Port // knows the paths
	file  *os.File
	fd    int
	local link.Address
	to    link.Address // of the datagram being sent
	room  int
	head  [link.BulkBytes]byte
	from  [unix.SizeofSockaddrInet6]byte
	call  unix.Msghdr
	iov   [2]unix.Iovec

	direct direct
	whole  control // tells the kernel not to cut a datagram that it gets in parts
}

var _ link.Bulk = (*Bulk)(nil)

// ListenBulk opens a socket for bulk datagrams at the address, with a port that the kernel chooses.
// Its queues are as long as this process may make them: an agent's longer than those of a rank.
func ListenBulk(addr netip.Addr) (*os.File, error) {
	local := link.AddressOf(netip.AddrPortFrom(addr, 0))
	if local.None() {
		return nil, fmt.Errorf("udp: no bulk datagrams at %v: not an address of this system", addr)
	}
	fd, err := open(local, bulkQueueBytes)
	if err != nil {
		return nil, fmt.Errorf("udp: no bulk datagrams at %v: %w", addr, err)
	}
	return os.NewFile(uintptr(fd), "udp bulk"), nil
}

// OpenBulk makes a Bulk of a socket that ListenBulk has opened, perhaps in another process, and
// owns the file from then on, unless there is an error. Without a file it opens a socket at the
// port's host; the error is then ErrSocket where this process is in another network than the port.
func (p *Port) OpenBulk(file *os.File) (*Bulk, error) {
	if file != nil {
		return p.newBulk(file)
	}
	file, err := ListenBulk(p.local.AddrPort().Addr())
	if err != nil {
		return nil, err
	}
	b, err := p.newBulk(file)
	if err == nil && !sameNetwork(b.fd, p.fd) {
		err = ErrSocket
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return b, nil
}

func (p *Port) newBulk(file *os.File) (*Bulk, error) {
	fd, err := descriptor(file)
	if err != nil {
		return nil, err
	}
	b := &Bulk{port: p, file: file, fd: fd}
	if b.local, err = mmsg.LocalAddress(fd); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSocket, err)
	}
	if b.local.Host() != p.local.Host() {
		return nil, ErrSocket
	}
	if b.room, err = unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF); err != nil {
		return nil, os.NewSyscallError("getsockopt", err)
	}
	p.stopFragments(fd)
	return b, nil
}

// Size implements link.Bulk.
func (b *Bulk) Size(to link.Address) int { return b.port.Size(to) }

// Send implements link.Bulk.
func (b *Bulk) Send(to link.Address, head *[link.BulkBytes]byte, data []byte, lasting bool) error {
	b.to = to
	errno, sent := unix.Errno(0), false
	if lasting {
		errno, sent = b.sendDirect(&b.to, head, data)
	}
	if !sent {
		errno = b.sendParts(&b.to, head, data)
	}
	switch errno {
	case unix.EAGAIN, unix.ENOBUFS:
		return link.ErrBusy
	case unix.EFAULT:
		return link.ErrMemory
	case unix.EMSGSIZE:
		b.port.onTooLarge(to, link.BulkBytes+len(data))
		return link.ErrNarrow
	default:
		return nil
	}
}

// Peek implements link.Bulk.
func (b *Bulk) Peek() (from link.Address, head []byte, ok bool) {
	n, errno := b.receiveParts(nil, unix.MSG_PEEK)
	if errno != 0 {
		return from, nil, false
	}
	return link.FromRaw(b.from[:min(int(b.call.Namelen), len(b.from))]), b.head[:min(n, len(b.head))], true
}

// Take implements link.Bulk.
func (b *Bulk) Take(place []byte) (int, error) {
	n, errno := b.receiveParts(place, unix.MSG_TRUNC)
	if errno == unix.EFAULT {
		return 0, link.ErrMemory
	}
	return max(n-link.BulkBytes, 0), nil
}

// Summed implements link.Bulk. UDP's checksum guards the bytes, as TCP's does those of a stream.
func (b *Bulk) Summed() bool { return false }

// Port implements link.Bulk.
func (b *Bulk) Port() uint16 { return b.local.AddrPort().Port() }

// Room implements link.Bulk.
func (b *Bulk) Room() int { return b.room }

// Waiting implements link.Bulk.
func (b *Bulk) Waiting() int { return mmsg.Waiting(b.fd) }

// Descriptor implements link.Bulk.
func (b *Bulk) Descriptor() int { return b.fd }

// Close implements link.Bulk.
func (b *Bulk) Close() error {
	b.direct.giveUp()
	return b.file.Close()
}
