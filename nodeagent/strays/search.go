package strays

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"score/nodeagent/wait"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// firstPause is the time between two searches at first. It doubles up to lastPause: a process
	// that the kernel does not end is found again and again, maybe for ever, and each search reads
	// /proc.
	firstPause = 10 * time.Millisecond
	lastPause  = 320 * time.Millisecond
	// doubt bounds the checks of processes that show no environment because they are executing a
	// program, which takes a millisecond, longer on a busy machine.
	doubt = time.Second
	// silentTimeout is how long a search waits for the environment of one process, up to twice. The
	// kernel has it at once, unless it must read it from a disk.
	silentTimeout = time.Second
	// maxSilent is the number of silent processes after which a search ends. A thread waits for
	// each.
	maxSilent = 8
)

// outcome is what became of a process.
type outcome int

const (
	other    outcome = iota // it does not carry the mark
	killed                  // it carried the mark
	doubtful                // it may carry the mark, but did not show it
)

// searcher searches among the processes of a user.
type searcher struct {
	uid  uint32
	mark string
	// silent holds the processes that did not answer, each with what is closed if it does.
	silent map[int]<-chan struct{}
}

// run kills the processes that carry the mark, until there is none, too many are silent, or ctx
// ends.
func (s *searcher) run(ctx context.Context) {
	until := time.Now().Add(doubt)
	for pause := firstPause; ctx.Err() == nil && len(s.silent) <= maxSilent; pause = longer(pause) {
		kills, doubts := s.round()
		switch {
		case kills > 0:
			until = time.Now().Add(doubt)
		case doubts == 0, time.Now().After(until):
			return
		}
		wait.Sleep(ctx, pause)
	}
}

// longer returns the pause after the next search.
func longer(pause time.Duration) time.Duration { return min(2*pause, lastPause) }

// round checks all processes once, except those that are silent. It counts those that it has
// killed, or found silent, and those that may carry the mark but did not show it.
func (s *searcher) round() (kills, doubts int) {
	pids := s.pids()
	for len(pids) > 0 && len(s.silent) <= maxSilent {
		w := &walk{uid: s.uid, mark: s.mark, pids: pids, done: make(chan struct{})}
		go w.run()
		n := w.await()
		kills, doubts = kills+int(w.kills.Load()), doubts+int(w.doubts.Load())
		if n == len(pids) {
			break
		}
		s.silent[pids[n]] = w.done
		kills++ // if it answered just now, it may have been killed
		pids = pids[n+1:]
	}
	return kills, doubts
}

// pids lists the processes of the host that are not silent.
func (s *searcher) pids() (pids []int) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if answer, ok := s.silent[pid]; ok {
			if !wait.Closed(answer) {
				continue
			}
			delete(s.silent, pid)
		}
		pids = append(pids, pid)
	}
	return pids
}

// walk checks processes one after the other, in a goroutine that a silent one keeps.
type walk struct {
	uid  uint32
	mark string
	pids []int
	done chan struct{} // closed at its end

	at            atomic.Int64 // which of pids is being checked
	abandoned     atomic.Bool  // it is not to check another
	kills, doubts atomic.Int64
}

func (w *walk) run() {
	defer close(w.done)
	for i, pid := range w.pids {
		if w.at.Store(int64(i)); w.abandoned.Load() {
			return
		}
		switch check(pid, w.uid, w.mark) {
		case killed:
			w.kills.Add(1)
		case doubtful:
			w.doubts.Add(1)
		case other:
		}
	}
}

// await waits for the end of the walk and returns how many processes there were, or abandons it at
// a silent one and returns which that is.
func (w *walk) await() int {
	ticker := time.NewTicker(silentTimeout)
	defer ticker.Stop()
	for last := int64(-1); ; {
		select {
		case <-w.done:
			return len(w.pids)
		case <-ticker.C:
		}
		if last == w.at.Load() {
			w.abandoned.Store(true)
			return int(last)
		}
		last = w.at.Load()
	}
}

// check kills a process if it is the user's and carries the mark. It may never return.
func check(pid int, uid uint32, mark string) outcome {
	fd, err := unix.PidfdOpen(pid, 0) // another process may get the number
	if err != nil {
		return other
	}
	defer unix.Close(fd)
	if !isOf(pid, uid) {
		return other // it may be silent, too
	}
	environ, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "environ"))
	switch {
	case err != nil:
		return other // it is dead
	case len(environ) == 0 && mayHaveMore(pid):
		return doubtful
	case !hasMark(environ, mark) || unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0) != nil:
		return other
	default:
		return killed
	}
}

// isOf reports whether the user has started a process. The real id stays that user's in a
// set-user-id program.
func isOf(pid int, uid uint32) bool {
	status, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "status"))
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
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	return err == nil && statMayHaveMore(stat)
}

// statMayHaveMore is mayHaveMore for what a process's stat file holds (proc_pid_stat(5)).
func statMayHaveMore(stat []byte) bool {
	const kernelThread = 0x00200000 // PF_KTHREAD of linux/sched.h
	// The fields after the program's name, which may hold anything.
	const state, flags, startCode, envStart, envEnd = 3, 9, 26, 50, 51
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) <= envEnd-state || strings.ContainsAny(fields[0], "ZX") {
		return false
	}
	bits, err := strconv.ParseUint(fields[flags-state], 10, 64)
	if err != nil || bits&kernelThread != 0 {
		return false
	}
	// The kernel sets the start of the environment, then its end, then the start of the code.
	return fields[startCode-state] == "0" || fields[envStart-state] != fields[envEnd-state]
}
