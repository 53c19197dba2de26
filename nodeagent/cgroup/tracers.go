package cgroup

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// tracedAfter is how long killed threads may stand still for their tracers: a debugger that follows
// exits lets them go on within milliseconds, on a busy machine within some slices of its scheduler.
const tracedAfter = time.Second

// Tracers keep killed threads from ending. A thread whose tracer asked for that
// (PTRACE_O_TRACEEXIT) stands still where it exits, also if it is killed, until its tracer lets it
// go on or ends; no further signal reaches it.
type Tracers struct {
	end time.Time // when they are killed; zero: they were
}

// AwaitTracers gives the tracers of threads that are killed now their time.
func AwaitTracers() Tracers { return Tracers{time.Now().Add(tracedAfter)} }

// End kills the tracers of the threads if their time is over, once: there may be very many threads.
// It kills processes of the thread's own user alone: another's debugger, as an administrator's, is
// waited for.
func (t *Tracers) End(threads func() []int) {
	if t.end.IsZero() || time.Now().Before(t.end) {
		return
	}
	t.end = time.Time{}
	for _, tid := range threads() {
		_ = endTracer(tid) // the thread or its tracer has ended meanwhile, or may not be killed
	}
}

func endTracer(tid int) error {
	tracee, err := readTraced(tid)
	if err != nil || !tracee.stands || tracee.tracer == 0 {
		return err
	}
	tracer, err := readTraced(tracee.tracer)
	if err != nil || tracer.users != tracee.users || tracer.process <= 1 || tracer.process == os.Getpid() {
		return err
	}
	fd, err := unix.PidfdOpen(tracer.process, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	// The descriptor stays that of one process. It is the tracer's if the thread still has that
	// one, since the number is not given to another before the tracer has ended.
	if again, err := readTraced(tid); err != nil || again != tracee {
		return err
	}
	return unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
}

// traced is what the kernel tells of a thread and its tracer.
type traced struct {
	stands  bool   // it is stopped for its tracer
	process int    // the process of the thread
	tracer  int    // a thread; 0: none, or one that is not visible here
	users   string // its four user ids
}

// readTraced reads /proc/TID/status.
func readTraced(tid int) (t traced, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", tid))
	if err != nil {
		return t, err
	}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ":\t")
		switch name {
		case "State":
			t.stands = strings.HasPrefix(value, "t")
		case "Tgid":
			t.process, err = strconv.Atoi(value)
		case "TracerPid":
			t.tracer, err = strconv.Atoi(value)
		case "Uid":
			t.users = value
			return t, nil // the last of them
		}
		if err != nil {
			return t, fmt.Errorf("thread %d: %q: %w", tid, line, err)
		}
	}
	return t, fmt.Errorf("%w: thread %d", unix.ESRCH, tid)
}
