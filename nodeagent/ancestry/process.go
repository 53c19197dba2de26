package ancestry

import (
	"fmt"
	"os"
	"score/channels/procstat"

	"golang.org/x/sys/unix"
)

// maxAncestors bounds the walk from a process to its rank. Few shells, wrappers and launchers are
// in between.
const maxAncestors = 32

// Process holds what /proc shows of a process.
type Process struct {
	PID, Parent int
	Start       uint64 // in ticks since the machine started
}

// read reads /proc/PID/stat.
func read(pid int) (Process, error) {
	stat, err := procstat.Read(pid)
	if err != nil {
		return Process{}, fmt.Errorf("process %d: %w", pid, err)
	}
	return Process{PID: pid, Parent: stat.Parent, Start: stat.Start}, nil
}

// ChildOf returns the first process with a parent for which isParent is true, among pid and its
// ancestors. It finds none if an ancestor's number was given to a younger process meanwhile.
func ChildOf(pid int, isParent func(pid int) bool) (child Process, ok bool) {
	for range maxAncestors {
		p, err := read(pid)
		if err != nil || child.PID != 0 && p.Start > child.Start {
			return Process{}, false
		}
		if isParent(p.Parent) {
			return p, true
		}
		if p.Parent <= 1 {
			return Process{}, false
		}
		child, pid = p, p.Parent
	}
	return Process{}, false
}

// SinceBoot returns the present time in the unit of Process.Start.
func SinceBoot() (uint64, error) {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t); err != nil {
		return 0, os.NewSyscallError("clock_gettime", err)
	}
	return uint64(t.Nano()) / uint64(procstat.Tick), nil
}
