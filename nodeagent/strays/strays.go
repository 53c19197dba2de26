// Package strays finds processes of a job by a mark in their environment, and kills them.
package strays

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"score/nodeagent/wait"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Variable is in the environment of every rank, and so of the processes that a rank starts. Without
// control groups, it is the only link between a process and its job once the steward and the
// parents are dead and the process has left its process group.
const Variable = "SCORE_JOB_KEY"

// strayPause is the time between two searches for strays.
const strayPause = 10 * time.Millisecond

// MarkIn returns the mark in the environment of a job.
func MarkIn(env []string) string {
	for _, variable := range slices.Backward(env) {
		if strings.HasPrefix(variable, Variable+"=") {
			return variable
		}
	}
	return ""
}

// strayDoubt bounds the checks of processes that show no environment because they are executing a
// program, which takes a millisecond, longer on a busy machine.
const strayDoubt = time.Second

// Kill ends all processes of the user that carry the mark, until there is none or ctx ends. A
// program that clears its environment escapes. Another user's process is left alone: the mark is no
// secret, and a user can pass it on to programs that run for others.
func Kill(ctx context.Context, uid uint32, mark string) {
	for until := time.Now().Add(strayDoubt); ctx.Err() == nil; wait.Sleep(ctx, strayPause) {
		killed, doubtful := killMarked(uid, mark)
		if killed > 0 {
			until = time.Now().Add(strayDoubt)
			continue
		}
		if doubtful == 0 || time.Now().After(until) {
			return
		}
	}
}

// killMarked kills the user's processes that carry the mark. It counts them, and those that may
// carry it but did not show it.
func killMarked(uid uint32, mark string) (killed, doubtful int) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return 0, 0
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		switch isKilled, isDoubtful := killIfMarked(pid, uid, mark); {
		case isKilled:
			killed++
		case isDoubtful:
			doubtful++
		}
	}
	return killed, doubtful
}

// killIfMarked kills a process if it is the user's and carries the mark.
func killIfMarked(pid int, uid uint32, mark string) (killed, doubtful bool) {
	fd, err := unix.PidfdOpen(pid, 0) // another process may get the number
	if err != nil {
		return false, false
	}
	defer unix.Close(fd)
	dir := filepath.Join("/proc", strconv.Itoa(pid))
	if !isOf(dir, uid) {
		return false, false // reading another user's environment may hang
	}
	environ, err := os.ReadFile(filepath.Join(dir, "environ"))
	if err != nil {
		return false, false // it is dead
	}
	switch {
	case len(environ) == 0:
		return false, mayHaveMore(pid)
	case !hasMark(environ, mark):
		return false, false
	default:
		return unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0) == nil, false
	}
}

// isOf reports whether the user has started a process, by its directory in /proc. The real id stays
// that user's in a set-user-id program.
func isOf(dir string, uid uint32) bool {
	status, err := os.ReadFile(filepath.Join(dir, "status"))
	return err == nil && bytes.Contains(status, fmt.Appendf(nil, "\nUid:\t%d\t", uid))
}

func hasMark(environ []byte, mark string) bool {
	for variable := range bytes.SplitSeq(environ, []byte{0}) {
		if string(variable) == mark {
			return true
		}
	}
	return false
}

// mayHaveMore reports whether a process that showed no environment may still have one, because it
// was executing a program. Kernel threads, dead processes and programs that were started without
// one do not.
func mayHaveMore(pid int) bool {
	const kernelThread = 0x00200000 // PF_KTHREAD of linux/sched.h
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return false
	}
	// The fields after the program's name, which may hold anything (proc_pid_stat(5)).
	const state, flags, envStart, envEnd = 3, 9, 50, 51
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) <= envEnd-state || strings.ContainsAny(fields[0], "ZX") {
		return false
	}
	bits, err := strconv.ParseUint(fields[flags-state], 10, 64)
	if err != nil || bits&kernelThread != 0 {
		return false
	}
	from, to := fields[envStart-state], fields[envEnd-state]
	return from != to || to == "0" // the kernel has yet to set them
}
