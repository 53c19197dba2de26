// Package processes finds what runs on this machine, and waits for its end, for tests.
package processes

import (
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// Process is a program that runs; command line and environment are as the kernel shows them: each
// word ends with a 0.
type Process struct {
	PID              int
	Command, Environ []byte
}

// All are the processes of this machine that live and may be looked at, but for this one.
func All() iter.Seq[Process] {
	return func(yield func(Process) bool) {
		entries, err := os.ReadDir("/proc")
		if err != nil {
			panic(err) // who finds nothing would take that for good news
		}
		for _, e := range entries {
			pid, err := strconv.Atoi(e.Name())
			if err != nil || pid == os.Getpid() {
				continue
			}
			command, err := os.ReadFile(filepath.Join("/proc", e.Name(), "cmdline"))
			if err != nil || len(command) == 0 {
				continue // it is dead
			}
			environ, err := os.ReadFile(filepath.Join("/proc", e.Name(), "environ"))
			if err != nil {
				continue
			}
			if !yield(Process{pid, command, environ}) {
				return
			}
		}
	}
}

// patience is how long what was killed may take to end.
const patience = time.Minute

// AwaitEnd waits until a process, which need not be our child, has ended.
func AwaitEnd(pid int) error {
	pidfd, err := unix.PidfdOpen(pid, 0)
	if errors.Is(err, unix.ESRCH) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open process %d: %w", pid, err)
	}
	defer unix.Close(pidfd)
	ended := []unix.PollFd{{Fd: int32(pidfd), Events: unix.POLLIN}}
	for deadline := time.Now().Add(patience); ; {
		n, err := unix.Poll(ended, max(0, int(time.Until(deadline).Milliseconds())))
		switch {
		case errors.Is(err, unix.EINTR): // by the end of another process, for example
		case err != nil:
			return fmt.Errorf("wait for process %d: %w", pid, err)
		case n == 0:
			return fmt.Errorf("process %d lives on", pid)
		default:
			return nil
		}
	}
}

// Descriptors counts the descriptors that this process has open.
func Descriptors() int {
	names, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		panic(err) // as in All
	}
	return len(names)
}
