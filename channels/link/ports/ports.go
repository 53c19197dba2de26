// Package ports makes a port of package link from a socket of any transport, so that a process that
// was handed a descriptor need not know which.
package ports

import (
	"errors"
	"fmt"
	"os"
	"score/channels/link"
	"score/channels/link/tipc"
	"score/channels/link/udp"

	"golang.org/x/sys/unix"
)

// Port is a port and its socket.
type Port interface {
	link.Port
	// Descriptor is the socket's, to wait on. It is the port's.
	Descriptor() int
}

// Open makes a port of a socket that package udp or tipc has opened, and owns the file from then
// on, unless there is an error.
func Open(file *os.File) (Port, error) {
	t, err := TransportOf(file)
	if err != nil {
		return nil, err
	}
	if t == link.TIPC {
		return tipc.New(file)
	}
	return udp.New(file)
}

// errNoBulk: there are no sockets for bulk datagrams beside those of TIPC.
var errNoBulk = errors.New("ports: the link has no bulk datagrams")

// OpenBulk makes a Bulk beside a port, of a socket that udp.ListenBulk has opened, which it owns
// from then on unless there is an error, or of one of its own if it is nil. The error is the
// system's, or says that the link has none.
func OpenBulk(p Port, socket *os.File) (link.Bulk, error) {
	u, ok := p.(*udp.Port)
	if !ok {
		return nil, errNoBulk
	}
	return u.OpenBulk(socket)
}

// TransportOf returns which transport a socket is of: UDP if it is not TIPC's.
func TransportOf(file *os.File) (t link.Transport, err error) {
	raw, err := file.SyscallConn()
	if err != nil {
		return link.UDP, fmt.Errorf("%w: %w", udp.ErrSocket, err)
	}
	var domain int
	var inner error
	if err := raw.Control(func(fd uintptr) { domain, inner = unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_DOMAIN) }); err != nil {
		return link.UDP, fmt.Errorf("%w: %w", udp.ErrSocket, err)
	}
	if inner == nil && domain == unix.AF_TIPC {
		return link.TIPC, nil
	}
	return link.UDP, nil
}
