package privateipc

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// sysctl is where the kernel shows the limits of the namespace of the thread that asks.
const sysctl = "/proc/sys"

// limitNames are the limits that an IPC namespace has for itself, see sysctl/kernel.rst and
// sysctl/fs.rst of the kernel. A new one has the kernel's defaults.
var limitNames = [...]string{
	"kernel/shmmax", "kernel/shmall", "kernel/shmmni", "kernel/shm_rmid_forced",
	"kernel/msgmax", "kernel/msgmnb", "kernel/msgmni", "kernel/sem",
	"fs/mqueue/queues_max", "fs/mqueue/msg_max", "fs/mqueue/msgsize_max",
	"fs/mqueue/msg_default", "fs/mqueue/msgsize_default",
}

// limits are the values of limitNames. An empty one is missing in this kernel.
type limits [len(limitNames)]string

// readLimits returns the limits of the namespace of the calling thread.
func readLimits() (l limits, err error) {
	for i, name := range limitNames {
		text, err := os.ReadFile(filepath.Join(sysctl, name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // as in a kernel without POSIX queues
			return l, fmt.Errorf("reading the host's limits on shared memory and queues: %w", err)
		}
		l[i] = string(text)
	}
	return l, nil
}

// setting is a value that a limit is given.
type setting struct{ name, value string }

// differences returns what must be set where the limits are those of other. Equal ones are not
// written: /proc/sys is often read-only in containers.
func (l *limits) differences(other *limits) (settings []setting) {
	for i, value := range l {
		if value != other[i] {
			settings = append(settings, setting{limitNames[i], value})
		}
	}
	return settings
}

// writeAll sets limits of the namespace of the calling thread.
func writeAll(settings []setting) error {
	for _, s := range settings {
		if err := os.WriteFile(filepath.Join(sysctl, s.name), []byte(s.value), 0); err != nil {
			return fmt.Errorf("giving jobs the host's limits on shared memory and queues: %w", err)
		}
	}
	return nil
}
