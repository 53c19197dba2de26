package procgroup

import (
	"errors"
	"fmt"
	"score/channels/procstat"
	"score/nodeagent/cgroup"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// SIGSTOP takes effect within microseconds, when the process next leaves the kernel or is
// interrupted. Only its parent is notified, so the wait checks again after pauses that double.
const (
	pollFirst = 20 * time.Microsecond
	pollLast  = time.Millisecond
)

// Group controls the processes of a job by signals.
type Group struct {
	parent int

	mu    sync.Mutex
	ranks []rank
	// ended is the CPU time of the ranks that are gone, as last seen.
	ended time.Duration
	buf   [procstat.Bytes]byte
}

type rank struct {
	pid, pgid int
	start     uint64
	statFD    int // kept open; reads fail with ESRCH once the rank is reaped
	cpu       time.Duration
}

var _ cgroup.Container = (*Group)(nil)

// New returns the group of a job. The process parent starts the job's ranks, and nothing else.
func New(parent int) *Group { return &Group{parent: parent} }

// Started adds a rank. It ignores a rank that it knows, and a rank that has already ended, even if
// another process has its number by now.
func (g *Group) Started(pid, pgid int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	fd, err := procstat.Open(pid)
	if err != nil {
		return
	}
	s, err := procstat.ReadAt(fd, g.buf[:])
	known := func(r rank) bool { return r.pid == pid && r.start == s.Start }
	if err != nil || s.Parent != g.parent || slices.ContainsFunc(g.ranks, known) {
		unix.Close(fd)
		return
	}
	g.ranks = append(g.ranks, rank{pid: pid, pgid: pgid, start: s.Start, statFD: fd})
}

// FD returns -1: processes are not born into a procgroup.
func (g *Group) FD() int { return -1 }

// Freeze sends SIGSTOP to every rank's process group.
func (g *Group) Freeze() error { return g.signal(unix.SIGSTOP) }

// Thaw sends SIGCONT to every rank's process group.
func (g *Group) Thaw() error { return g.signal(unix.SIGCONT) }

func (g *Group) signal(sig unix.Signal) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.forgetReaped()
	last := 0
	for _, r := range g.ranks {
		if r.pgid == last {
			continue
		}
		last = r.pgid
		if err := unix.Kill(-r.pgid, sig); err != nil && !errors.Is(err, unix.ESRCH) {
			return fmt.Errorf("signal %d to process group %d: %w", int(sig), r.pgid, err)
		}
	}
	return nil
}

// forgetReaped drops the ranks that are gone. While a rank is a zombie, no other process can get
// its numbers; after that no signal may be sent to them.
func (g *Group) forgetReaped() {
	kept := g.ranks[:0]
	for _, r := range g.ranks {
		s, err := procstat.ReadAt(r.statFD, g.buf[:])
		if procstat.Gone(err) {
			g.ended += r.cpu
			unix.Close(r.statFD)
			continue
		}
		if err == nil {
			r.cpu = s.CPU
		}
		kept = append(kept, r)
	}
	g.ranks = kept
}

// WaitFrozen checks the ranks until all are stopped or have ended. With a zero deadline it checks
// once. It allocates nothing unless the deadline passes.
func (g *Group) WaitFrozen(deadline time.Time) error {
	for pause := pollFirst; ; pause = min(2*pause, pollLast) {
		running := g.running()
		if running == 0 {
			return nil
		}
		if deadline.IsZero() {
			return cgroup.ErrNotFrozen
		}
		left := time.Until(deadline)
		if left <= 0 {
			return fmt.Errorf("process %d: %w", running, cgroup.ErrNotFrozen)
		}
		ts := unix.NsecToTimespec(int64(min(pause, left)))
		if err := unix.Nanosleep(&ts, nil); err != nil && !errors.Is(err, unix.EINTR) {
			return fmt.Errorf("waiting for a stop: %w", err)
		}
	}
}

// AnyStopped reports whether one of the processes is stopped by a signal.
func AnyStopped(pids []int) bool {
	for _, pid := range pids {
		if s, err := procstat.Read(pid); err == nil && stopped(s) && !s.Exited() {
			return true
		}
	}
	return false
}

// running returns the first rank that still runs, or 0.
func (g *Group) running() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	for i := range g.ranks {
		s, err := procstat.ReadAt(g.ranks[i].statFD, g.buf[:])
		if err == nil && !stopped(s) {
			return g.ranks[i].pid
		}
	}
	return 0
}

// Pids appends the job's living processes.
func (g *Group) Pids(pids []int) ([]int, error) {
	found, err := g.processes()
	return appendPids(pids, found), err
}

// processes returns the job's living processes, by group and by descent.
func (g *Group) processes() ([]process, error) {
	all, err := table()
	if err != nil {
		return nil, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.forgetReaped()
	groups := make(map[int]bool)
	for _, r := range g.ranks {
		groups[r.pgid] = true
	}
	return descendants(all, g.parent, groups), nil
}

// CPUTime returns the CPU time of the ranks and of the children for which they have waited. A rank
// that is gone counts as last seen, so the exact figure at the end is the rusage that package
// launch reports.
func (g *Group) CPUTime() (time.Duration, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.forgetReaped()
	sum := g.ended
	for _, r := range g.ranks {
		sum += r.cpu
	}
	return sum, nil
}

// Close kills the processes that are left and closes the files.
func (g *Group) Close(deadline time.Time) error {
	if err := g.Kill(deadline); err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, r := range g.ranks {
		unix.Close(r.statFD)
	}
	g.ranks = nil
	return nil
}
