package socket

import (
	"errors"
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"
)

// ErrNoIdentity is returned for a connection whose peer the kernel does not identify.
var ErrNoIdentity = errors.New("the kernel does not tell who is at the other end of the connection")

// PeerUID returns the user at the other end of a connection, as the kernel recorded it when the
// connection was made.
func PeerUID(c syscall.Conn) (uint32, error) {
	credentials, err := Peer(c, func(int) {})
	if err != nil {
		return 0, err
	}
	return credentials.Uid, nil
}

// Peer asks the kernel who connected (SO_PEERCRED), then calls more with the same descriptor. The
// error wraps ErrNoIdentity.
func Peer(c syscall.Conn, more func(fd int)) (*unix.Ucred, error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoIdentity, err)
	}
	var credentials *unix.Ucred
	var credErr error
	err = raw.Control(func(fd uintptr) {
		credentials, credErr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
		more(int(fd))
	})
	if err := errors.Join(err, credErr); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoIdentity, err)
	}
	return credentials, nil
}
