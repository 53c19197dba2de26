package realtime

import (
	"errors"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// SwitchPriority is the priority of switching threads: above every ordinary program, below the
// kernel's interrupt threads, which have 50.
const SwitchPriority = 40

// DrivePriority is the priority of the thread that drives the network: a switch waits for it, and
// it waits for the switching thread.
const DrivePriority = SwitchPriority - 1

// DyingPriority is the priority of killed processes that need a processor to end: above all
// ordinary programs, below all other real-time threads.
const DyingPriority = 1

const (
	minFIFO, maxFIFO = 1, 99
)

var (
	// ErrNotPermitted means that the kernel does not let this process raise its priority or lock
	// its memory. The error that wraps it gives the remedy.
	ErrNotPermitted = errors.New("not permitted")
	// ErrPriority means that a priority is out of range.
	ErrPriority = errors.New("no such priority")
)

// SetFIFO gives the calling thread, which must be locked, the real-time policy
// SCHED_FIFO with a priority of 1 to 99. Processes that it starts do not inherit
// it (SCHED_RESET_ON_FORK), nor do threads that Go starts.
func SetFIFO(priority int) error { return SetThreadFIFO(0, priority) }

// SetThreadFIFO is like SetFIFO, for the thread with number tid of any process; 0 is the calling
// thread.
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
		return fmt.Errorf("real-time priority %d is %w, switches will be late on busy nodes; %s",
			priority, ErrNotPermitted, remedy(mayRaise(priority)))
	}
	if err != nil {
		return fmt.Errorf("setting real-time priority %d: %w", priority, err)
	}
	return nil
}

// remedy returns advice for getting real-time priority. If the thread may raise its priority by its
// limits, the cause is a control group without real-time bandwidth or a filter of system calls.
func remedy(may bool) string {
	if !may {
		return "run the agent as root or raise its RLIMIT_RTPRIO"
	}
	return "this kernel has CONFIG_RT_GROUP_SCHED and the agent's control group the cpu controller, which a unit beside it " +
		"brings by CPUWeight=, CPUQuota= or Delegate=, or the agent's unit has RestrictRealtime="
}

// mayRaise reports whether the capabilities and limits of the calling thread permit this priority.
func mayRaise(priority int) bool {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData // 32 capabilities each; linux/capability.h
	if err := unix.Capget(&header, &data[0]); err == nil && data[0].Effective&(1<<unix.CAP_SYS_NICE) != 0 {
		return true
	}
	var limit unix.Rlimit
	err := unix.Prlimit(0, unix.RLIMIT_RTPRIO, nil, &limit)
	return err == nil && limit.Cur >= uint64(priority)
}

// SetThreadNormal ends the real-time policy of the thread with number tid, of any process.
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

// LockMemory keeps every used page of this process in memory, so that a switch never waits for a
// disk. Pages are locked at their first use: Go reserves far more addresses than it uses.
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
