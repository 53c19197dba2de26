// Package agentdir locks an agent's run directory, and stores there the address at which the agent
// listens.
package agentdir

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// lockTimeout is how long the lock of a killed agent may last: a steward that the agent was
	// starting holds a copy until its program runs.
	lockTimeout = 2 * time.Second
	// lockPause is the time between two tries.
	lockPause = 10 * time.Millisecond
)

// Lock makes the agent's directory and locks it, so that a second agent with the same directory
// fails. The lock ends with the process.
func Lock(dir string) (unlock func(), err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("making the run directory: %w; name another one with run_dir", err)
	}
	var stat unix.Stat_t
	if err := unix.Stat(dir, &stat); err != nil {
		return nil, fmt.Errorf("looking at the run directory %s: %w", dir, err)
	}
	if stat.Mode&unix.S_IFMT != unix.S_IFDIR || int(stat.Uid) != os.Geteuid() || stat.Mode&0o077 != 0 {
		return nil, fmt.Errorf(
			"the run directory %s must be a directory of the agent's own user with mode 0700, since whoever can reach the sockets in it controls the jobs",
			dir,
		)
	}
	lock, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("locking the run directory: %w", err)
	}
	for limit := time.Now().Add(lockTimeout); ; time.Sleep(lockPause) {
		err = unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if !errors.Is(err, unix.EWOULDBLOCK) || time.Now().After(limit) {
			break
		}
	}
	if errors.Is(err, unix.EWOULDBLOCK) {
		lock.Close()
		return nil, fmt.Errorf("another agent uses the run directory %s; stop it, or give this one a name and a run_dir of its own", dir)
	}
	if err != nil {
		lock.Close()
		return nil, fmt.Errorf("locking the run directory %s: %w", dir, err)
	}
	return func() {
		_ = os.Remove(lock.Name()) // a file that stays is locked again
		lock.Close()
	}, nil
}
