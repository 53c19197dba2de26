package realtime

import (
	"errors"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// SwitchPriority is for switching threads: above every ordinary program, below
// the kernel's own interrupt threads, which have 50.
const SwitchPriority = 40

// DrivePriority is for what drives the network: a switch waits for it, and it for the
// switching thread.
const DrivePriority = SwitchPriority - 1

// DyingPriority is for what has been killed and waits for a processor to end on: above every
// ordinary program, below all that works.
const DyingPriority = 1

const (
	minFIFO, maxFIFO = 1, 99
)

var (
	// ErrNotPermitted means that the kernel does not let this process raise its
	// priority or lock its memory; the text says what would permit it.
	ErrNotPermitted = errors.New("not permitted")
	// ErrPriority means that a priority is out of range.
	ErrPriority = errors.New("no such priority")
)

// SetFIFO gives the calling thread, which must be locked, the real-time policy
// SCHED_FIFO with a priority of 1 to 99. Processes that it starts do not inherit
// it (SCHED_RESET_ON_FORK), nor do threads that Go starts.
func SetFIFO(priority int) error { return SetThreadFIFO(0, priority) }

// SetThreadFIFO is SetFIFO for the thread of that number, which may be of any process; 0 is the
// calling one.
func SetThreadFIFO(tid, priority int) error {
	if priority < minFIFO || priority > maxFIFO {
		return fmt.Errorf("%w: a real-time priority is %d to %d, not %d", ErrPriority, minFIFO, maxFIFO, priority)
	}
	attr := unix.SchedAttr{
		Size:     unix.SizeofSchedAttr,
		Policy:   unix.SCHED_FIFO,
		Flags:    unix.SCHED_FLAG_RESET_ON_FORK,
		Priority: uint32(priority),
	}
	err := unix.SchedSetAttr(tid, &attr, 0)
	if errors.Is(err, unix.EPERM) {
		return fmt.Errorf("real-time priority %d is %w, switches will be late on busy nodes; run the agent as root or raise its RLIMIT_RTPRIO",
			priority, ErrNotPermitted)
	}
	if err != nil {
		return fmt.Errorf("setting real-time priority %d: %w", priority, err)
	}
	return nil
}

// SetThreadNormal takes the real-time policy from the thread of that number, which may be of any
// process.
func SetThreadNormal(tid int) error {
	attr := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_NORMAL}
	if err := unix.SchedSetAttr(tid, &attr, 0); err != nil {
		return fmt.Errorf("taking real-time priority back: %w", err)
	}
	return nil
}

func threads() ([]int, error) {
	entries, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return nil, fmt.Errorf("listing threads: %w", err)
	}
	tids := make([]int, 0, len(entries))
	for _, e := range entries {
		tid, err := strconv.Atoi(e.Name())
		if err != nil {
			return nil, fmt.Errorf("listing threads: %w", err)
		}
		tids = append(tids, tid)
	}
	return tids, nil
}

// LockMemory keeps every page that this process has touched in memory, so that
// a switch never waits for a disk. Pages are locked when first used: Go reserves
// far more addresses than it uses.
func LockMemory() error {
	err := unix.Mlockall(unix.MCL_CURRENT | unix.MCL_FUTURE | unix.MCL_ONFAULT)
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENOMEM) {
		return fmt.Errorf("locking memory is %w; run the agent as root or raise its RLIMIT_MEMLOCK", ErrNotPermitted)
	}
	if err != nil {
		return fmt.Errorf("locking memory: %w", err)
	}
	return nil
}
