package lineage

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// ancestorsMost bounds the walk from a process to its rank: shells, wrappers and
	// launchers in between are a few.
	ancestorsMost = 32
	// userHZ is the unit of times in /proc on every Linux that Go runs on: 1/100 s.
	userHZ = 100
)

// errStat says that /proc does not say what is expected.
var errStat = errors.New("not a process's stat")

// Process is what /proc tells of one.
type Process struct {
	PID, Parent int
	Start       uint64 // in 1/userHZ seconds since the machine started
}

// Read reads /proc/PID/stat (proc_pid_stat(5)).
func Read(pid int) (Process, error) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return Process{}, err
	}
	return parseStat(pid, stat)
}

// parseStat takes the fields after the program's name, which may hold anything.
func parseStat(pid int, stat []byte) (Process, error) {
	const state, parent, start = 3, 4, 22 // numbers of the fields
	name := bytes.LastIndexByte(stat, ')')
	fields := bytes.Fields(stat[name+1:])
	if name < 0 || len(fields) <= start-state {
		return Process{}, errStat
	}
	ppid, err := strconv.Atoi(string(fields[parent-state]))
	if err != nil {
		return Process{}, fmt.Errorf("%w: %w", errStat, err)
	}
	began, err := strconv.ParseUint(string(fields[start-state]), 10, 64)
	if err != nil {
		return Process{}, fmt.Errorf("%w: %w", errStat, err)
	}
	return Process{PID: pid, Parent: ppid, Start: began}, nil
}

// ChildOf finds the process of the chain from pid upwards whose parent is one for which
// isParent is true. A number that was given to a younger process meanwhile breaks the chain.
func ChildOf(pid int, isParent func(pid int) bool) (child Process, ok bool) {
	for range ancestorsMost {
		p, err := Read(pid)
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

// SinceBoot is the time in the unit of Process.Start.
func SinceBoot() (uint64, error) {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t); err != nil {
		return 0, os.NewSyscallError("clock_gettime", err)
	}
	return uint64(t.Nano()) / uint64(time.Second/userHZ), nil
}
