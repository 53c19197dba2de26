package server

import (
	"errors"
	"fmt"
	"net"
	"score/scored/api/transport/socket"
	"syscall"
)

// ErrListen is wrapped by errors of addresses that cannot be listened on.
var ErrListen = socket.ErrListen

func listenAgents(address string) (net.Listener, error) {
	if path, ok := isUnix(address); ok {
		return socket.Listen("agents_listen", path, socket.OnlyOwner)
	}
	return listenTCP("agents_listen", address)
}

func listenTCP(key, address string) (net.Listener, error) {
	listener, err := net.Listen("tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("%w: %s = %q is taken by another process; stop it, or choose another port", ErrListen, key, address)
	}
	if err != nil {
		return nil, listenError(key, address, err)
	}
	return listener, nil
}

func listenError(key, address string, err error) error {
	return fmt.Errorf("%w: %s = %q: %w", ErrListen, key, address, err)
}
