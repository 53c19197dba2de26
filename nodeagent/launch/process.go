package launch

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Process is a started rank.
type Process struct {
	ID  int // the Rank's
	Pid int

	launcher uint64 // ownResident before its start

	mu    sync.Mutex
	pidfd int // -1 once reaped
}

// SignalGroup sends a signal to the process group that the rank leads, with the processes that it
// has started in the group. It returns os.ErrProcessDone after the rank was reaped, and never hits
// another group.
func (p *Process) SignalGroup(sig unix.Signal) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.pidfd < 0 {
		return os.ErrProcessDone
	}
	// No other group can have the number before the rank is reaped.
	if err := unix.Kill(-p.Pid, sig); err != nil && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("signal %d to the process group of rank %d: %w", int(sig), p.ID, err)
	}
	return nil
}

// Exit is the end of a rank, with the resources that it used.
type Exit struct {
	ID     int
	Pid    int
	Status ExitStatus
	Usage  Usage
}

// Usage is the resource use of a rank and of the children that it has waited for.
type Usage struct {
	User, System time.Duration
	// MaxRSS is the peak memory of the largest of these processes, in bytes; 0 if it is unknown,
	// since none had more than the launcher.
	MaxRSS uint64
}

// CPU returns the sum of user and system time.
func (u Usage) CPU() time.Duration { return u.User + u.System }

// usageOf returns the kernel's counts for a rank; launcher is the memory that the launcher may have
// had, in bytes.
func usageOf(ru *unix.Rusage, launcher uint64) Usage {
	u := Usage{User: time.Duration(ru.Utime.Nano()), System: time.Duration(ru.Stime.Nano())}
	if resident := uint64(ru.Maxrss) << 10; resident > launcher { // the kernel counts in KiB
		u.MaxRSS = resident
	}
	return u
}
