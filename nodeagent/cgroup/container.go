package cgroup

import "time"

// Container holds the processes of one job on one node. A *Group is one by the
// kernel's control groups; package procgroup has one by signals.
//
// Freeze, WaitFrozen and Thaw belong to one thread, the switching one. The
// other methods may be called at the same time from elsewhere: a job may end
// while it is being switched.
type Container interface {
	// Started announces a rank's process and process group. A procgroup learns
	// its processes by it; a Group needs no announcement.
	Started(pid, pgid int)
	// FD is what launch.Rank.CgroupFD takes: the group's directory, or -1
	// where there is none. It stays valid until Close.
	FD() int
	// Freeze asks that all processes stop. It does not wait.
	Freeze() error
	// WaitFrozen returns nil once no process of the job runs any more, or an
	// error wrapping ErrNotFrozen at the deadline. With the zero deadline it
	// only checks, and allocates nothing.
	WaitFrozen(deadline time.Time) error
	// Thaw lets all processes run again.
	Thaw() error
	// Kill ends all processes, frozen or not, and waits until none is left or,
	// at the deadline, returns an error wrapping ErrNotEmpty.
	Kill(deadline time.Time) error
	// Pids appends the ids of the processes there are now.
	Pids(pids []int) ([]int, error)
	// CPUTime is the time used so far by all processes, ended ones included.
	CPUTime() (time.Duration, error)
	// Close kills what is left and gives everything back. No other call may be
	// under way or follow.
	Close(deadline time.Time) error
}
