package processes

import (
	"fmt"
	"os"
	"path/filepath"
	"score/channels/procstat"
	"time"

	"golang.org/x/sys/unix"
)

// Stop stops a process and waits until none of its threads runs. Some threads may go on for a while
// after the signal was sent: the kernel stops them once the thread that it has chosen takes the
// signal.
func Stop(pid int) error {
	if err := unix.Kill(pid, unix.SIGSTOP); err != nil {
		return fmt.Errorf("stop process %d: %w", pid, err)
	}
	for deadline := time.Now().Add(patience); !stopped(pid); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			return fmt.Errorf("process %d does not stop", pid)
		}
	}
	return nil
}

// stopped reports whether no thread of a process runs.
func stopped(pid int) bool {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	if err != nil {
		panic(err) // the pattern is wrong
	}
	for _, path := range threads {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		if stat, err := procstat.Parse(text); err != nil || stat.State != 'T' && !stat.Exited() {
			return false
		}
	}
	return true
}
