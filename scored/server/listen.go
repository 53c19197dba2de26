package server

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

const (
	// everybody may connect to the users' socket: the kernel tells who it is.
	everybody = 0o666
	// onlyOwner is for agents of the same user.
	onlyOwner = 0o600
	// socketDirMode lets everybody reach the users' socket.
	socketDirMode = 0o755
	// probeTimeout bounds finding out whether a socket is somebody's.
	probeTimeout = time.Second
)

// ErrListen is wrapped by errors of addresses that cannot be had.
var ErrListen = errors.New("cannot listen")

func listenAgents(address string) (net.Listener, error) {
	if path, ok := isUnix(address); ok {
		return listenUnix("agents_listen", path, onlyOwner)
	}
	return listenTCP("agents_listen", address)
}

func listenTCP(key, address string) (net.Listener, error) {
	listener, err := net.Listen("tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("%w: %s = %q is taken by another process; stop it, or choose another port", ErrListen, key, address)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %s = %q: %w", ErrListen, key, address, err)
	}
	return listener, nil
}

// listenUnix makes the socket and its directory. A socket that a dead server
// left is replaced; one that somebody answers on is not.
func listenUnix(key, path string, mode os.FileMode) (net.Listener, error) {
	if err := os.MkdirAll(filepath.Dir(path), socketDirMode); err != nil {
		return nil, fmt.Errorf("%w: %s = %q: cannot make its directory: %w", ErrListen, key, path, err)
	}
	if err := clearWay(key, path); err != nil {
		return nil, err
	}
	listener, err := net.Listen("unix", path)
	if err != nil {
		return nil, fmt.Errorf("%w: %s = %q: %w", ErrListen, key, path, err)
	}
	if err := os.Chmod(path, mode); err != nil {
		return nil, errors.Join(fmt.Errorf("%w: %s = %q: %w", ErrListen, key, path, err), listener.Close())
	}
	return listener, nil
}

func clearWay(key, path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("%w: %s = %q: %w", ErrListen, key, path, err)
	case info.Mode().Type() != os.ModeSocket:
		return fmt.Errorf("%w: %s = %q is there and is no socket; remove it, or choose another path", ErrListen, key, path)
	}
	probe, err := net.DialTimeout("unix", path, probeTimeout)
	if err == nil {
		probe.Close()
		return fmt.Errorf("%w: another server answers on %s = %q; stop it, or choose another path", ErrListen, key, path)
	}
	if err := os.Remove(path); err != nil {
		return fmt.Errorf("%w: %s = %q: %w", ErrListen, key, path, err)
	}
	return nil
}
