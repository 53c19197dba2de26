package cgroup

import "time"

// Container holds the processes of one job on one node. A *Group implements it by the kernel's
// control groups, package procgroup by signals.
//
// Freeze, WaitFrozen and Thaw are for the switching thread alone. The other methods may be called
// concurrently: a job may end while it is being switched.
type Container interface {
	// Started announces a rank's process and process group. A procgroup learns its processes from
	// it; a Group does not need it.
	Started(pid, pgid int)
	// FD returns the value for launch.Rank.CgroupFD: the group's directory, or -1 without a group.
	// It is valid until Close.
	FD() int
	// Freeze orders all processes to stop. It does not wait.
	Freeze() error
	// WaitFrozen returns nil once all processes of the job have stopped, or an error wrapping
	// ErrNotFrozen at the deadline. With the zero deadline it only checks, and allocates nothing.
	WaitFrozen(deadline time.Time) error
	// Thaw lets all processes run again.
	Thaw() error
	// Kill ends all processes, frozen or not, and waits until none is left or,
	// at the deadline, returns an error wrapping ErrNotEmpty.
	Kill(deadline time.Time) error
	// Pids appends the ids of the present processes.
	Pids(pids []int) ([]int, error)
	// CPUTime returns the CPU time used so far by all processes, including ended ones.
	CPUTime() (time.Duration, error)
	// Close kills the remaining processes and releases all resources. No other call may be under
	// way or follow.
	Close(deadline time.Time) error
}
