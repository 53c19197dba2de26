package socket

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"score/channels/scm"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// Everybody is the mode of a socket for users: the kernel identifies callers.
	Everybody = 0o666
	// OnlyOwner is the mode of a socket for daemons of the same user.
	OnlyOwner = 0o600
	// MaxPath is what fits in a Unix socket address of Linux, without the closing NUL.
	MaxPath = 107
	// dirMode lets everybody reach a socket for users.
	dirMode = 0o755
	// probeTimeout bounds the check whether a socket is in use.
	probeTimeout = time.Second
)

// ErrListen is wrapped by errors of addresses that are not available.
var ErrListen = errors.New("cannot listen")

// Listen makes the socket and its directory. It replaces a socket that a dead daemon left, but not
// one on which a daemon answers. The error, which wraps ErrListen, names the configuration key.
func Listen(key, path string, mode os.FileMode) (net.Listener, error) {
	if err := os.MkdirAll(filepath.Dir(path), dirMode); err != nil {
		return nil, fmt.Errorf("%w: %s = %q: cannot make its directory: %w", ErrListen, key, path, err)
	}
	if err := clearWay(key, path); err != nil {
		return nil, err
	}
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("%w: %s = %q: %w", ErrListen, key, path, err)
	}
	scm.Refuse(listener)
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
		return fmt.Errorf("%w: %s = %q exists and is not a socket; remove it, or choose another path", ErrListen, key, path)
	}
	probe, err := net.DialTimeout("unix", path, probeTimeout)
	if err == nil {
		probe.Close()
	}
	if err == nil || errors.Is(err, unix.EAGAIN) { // its queue is full
		return fmt.Errorf("%w: another daemon answers on %s = %q; stop it, or choose another path", ErrListen, key, path)
	}
	if err := os.Remove(path); err != nil {
		return fmt.Errorf("%w: %s = %q: %w", ErrListen, key, path, err)
	}
	return nil
}

// CheckPath refuses invalid paths of sockets; the error names the configuration key.
func CheckPath(key, path string) error {
	switch {
	case !filepath.IsAbs(path):
		return fmt.Errorf("%s = %q must be an absolute path", key, path)
	case len(path) > MaxPath:
		return fmt.Errorf("%s = %q is longer than the %d bytes a socket's name may have; choose a shorter one", key, path, MaxPath)
	}
	return nil
}
