package handover

import (
	"errors"
	"fmt"
	"net"
	"score/channels/scm"

	"golang.org/x/sys/unix"
)

// network is a Unix socket that keeps the packets apart.
const network = "unixpacket"

// ErrDial means that the daemon's socket is not there, or nobody answers it.
var ErrDial = errors.New("handover: no daemon at the socket")

// Dial connects to the daemon that listens at the path, or at an abstract name that begins
// with @. It must be root's or the caller's own: whoever hands out images can read and write
// all messages. The error wraps ErrDial.
func Dial(path string) (*net.UnixConn, error) {
	// It does not wait: while the daemon's queue is full, the kernel refuses.
	conn, err := net.DialUnix(network, nil, &net.UnixAddr{Name: path, Net: network})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDial, err)
	}
	who, err := Peer(conn)
	if err != nil || !trusted(who.Uid, path) {
		_ = conn.Close()
		return nil, fmt.Errorf("%w: another user listens at %s", ErrDial, path)
	}
	return conn, nil
}

// Listen listens at the path for ranks that dial. Closing the listener removes
// the path. Who may connect is for the path's directory and its mode to say.
func Listen(path string) (*net.UnixListener, error) {
	listener, err := net.ListenUnix(network, &net.UnixAddr{Name: path, Net: network})
	if err != nil {
		return nil, err
	}
	scm.Refuse(listener) // ranks only get descriptors
	return listener, nil
}

// Peer says who connected, as the kernel noted it at that time: the process may
// have ended since, and its number may be another's by now.
func Peer(conn *net.UnixConn) (*unix.Ucred, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return nil, err
	}
	var who *unix.Ucred
	var inner error
	err = raw.Control(func(fd uintptr) {
		who, inner = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	})
	return who, errors.Join(err, inner)
}
