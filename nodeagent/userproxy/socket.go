package userproxy

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"score/scored/api/transport/socket"

	"golang.org/x/sys/unix"
)

// errOtherAgent means that another agent of this host has the socket.
var errOtherAgent = errors.New("another agent of this host has the socket")

// ownedSocket is a socket at which this process alone listens. The lock beside it keeps agents that
// start together from replacing each other's socket.
type ownedSocket struct {
	listener net.Listener
	lock     *os.File
}

// listen listens at the path, unless another agent does.
func listen(path string) (*ownedSocket, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("the directory of the socket for users: %w", err)
	}
	lock, err := lockFile(path + ".lock")
	if err != nil {
		return nil, err
	}
	listener, err := socket.Listen("agent.socket", path, socket.Everybody)
	if err != nil {
		releaseLock(lock)
		return nil, err
	}
	return &ownedSocket{listener: listener, lock: lock}, nil
}

// release releases the socket for other agents.
func (s *ownedSocket) release() {
	_ = s.listener.Close() // the server may have closed it
	releaseLock(s.lock)
}

// lockFile makes the file and locks it; the kernel unlocks it when the process ends.
func lockFile(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, fmt.Errorf("the lock of the socket for users: %w", err)
	}
	if err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		file.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, errOtherAgent
		}
		return nil, fmt.Errorf("the lock of the socket for users: %w", err)
	}
	// The last holder may have removed the file meanwhile, and a third agent made another.
	mine, err := file.Stat()
	if there, statErr := os.Lstat(path); err != nil || statErr != nil || !os.SameFile(mine, there) {
		file.Close()
		return nil, errOtherAgent
	}
	return file, nil
}

func releaseLock(lock *os.File) {
	_ = os.Remove(lock.Name()) // a file that stays is locked again
	lock.Close()
}
