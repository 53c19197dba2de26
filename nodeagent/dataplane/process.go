package dataplane

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

// process is what /proc tells of one.
type process struct {
	pid, parent int
	start       uint64 // in 1/userHZ seconds since the machine started
}

// readProcess reads /proc/PID/stat (proc_pid_stat(5)).
func readProcess(pid int) (process, error) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return process{}, err
	}
	return parseStat(pid, stat)
}

// parseStat takes the fields after the program's name, which may hold anything.
func parseStat(pid int, stat []byte) (process, error) {
	const state, parent, start = 3, 4, 22 // numbers of the fields
	name := bytes.LastIndexByte(stat, ')')
	fields := bytes.Fields(stat[name+1:])
	if name < 0 || len(fields) <= start-state {
		return process{}, errStat
	}
	ppid, err := strconv.Atoi(string(fields[parent-state]))
	if err != nil {
		return process{}, fmt.Errorf("%w: %w", errStat, err)
	}
	began, err := strconv.ParseUint(string(fields[start-state]), 10, 64)
	if err != nil {
		return process{}, fmt.Errorf("%w: %w", errStat, err)
	}
	return process{pid: pid, parent: ppid, start: began}, nil
}

// childOf finds the process of the chain from pid upwards whose parent is one for which
// isParent is true. A number that was given to a younger process meanwhile breaks the chain.
func childOf(pid int, isParent func(pid int) bool) (child process, ok bool) {
	for range ancestorsMost {
		p, err := readProcess(pid)
		if err != nil || child.pid != 0 && p.start > child.start {
			return process{}, false
		}
		if isParent(p.parent) {
			return p, true
		}
		if p.parent <= 1 {
			return process{}, false
		}
		child, pid = p, p.parent
	}
	return process{}, false
}

// sinceBoot is the time in the unit of process.start.
func sinceBoot() (uint64, error) {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t); err != nil {
		return 0, os.NewSyscallError("clock_gettime", err)
	}
	return uint64(t.Nano()) / uint64(time.Second/userHZ), nil
}
