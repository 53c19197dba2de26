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

// SignalGroup sends to the process group that the rank leads: to all that it
// has started in it. It returns os.ErrProcessDone when the rank has been reaped,
// and never hits another group.
func (p *Process) SignalGroup(sig unix.Signal) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.pidfd < 0 {
		return os.ErrProcessDone
	}
	// As long as the rank is not reaped its number is its own.
	if err := unix.Kill(-p.Pid, sig); err != nil && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("signal %d to the process group of rank %d: %w", int(sig), p.ID, err)
	}
	return nil
}

// Exit tells how a rank ended and what it used.
type Exit struct {
	ID     int
	Pid    int
	Status ExitStatus
	Usage  Usage
}

// Usage is the resource use of a rank and of the children that it has waited for.
type Usage struct {
	User, System time.Duration
	// MaxRSS is the most memory of the largest of them, in bytes; 0 if that is unknown, since none
	// had more than the launcher.
	MaxRSS uint64
}

// CPU is the sum of user and system time.
func (u Usage) CPU() time.Duration { return u.User + u.System }

// usageOf returns what the kernel counted for a rank whose launcher may have had so many bytes.
func usageOf(ru *unix.Rusage, launcher uint64) Usage {
	u := Usage{User: time.Duration(ru.Utime.Nano()), System: time.Duration(ru.Stime.Nano())}
	if resident := uint64(ru.Maxrss) << 10; resident > launcher { // the kernel counts in KiB
		u.MaxRSS = resident
	}
	return u
}
