package launch

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"sync"

	"golang.org/x/sys/unix"
)

// Reaper knows the ranks that live, and reads how each of them ended. It waits for none: its owner
// watches their pidfds, beside whatever else it waits for, and calls Reap.
type Reaper struct {
	watch func(pidfd, pid int) error

	// starting is held from before a fork until the rank is known, so that a rank is not taken for
	// an orphan.
	starting sync.Mutex

	mu      sync.Mutex // guards all below, and what is read with wait4
	ranks   map[int]*Process
	orphans *orphans // nil unless AdoptOrphans was called
}

// WatchEvents are the events of epoll for which a pidfd is watched. Edge-triggered: if a debugger
// holds a rank, its end is reported before its status can be read, and again when it can.
const WatchEvents = unix.EPOLLIN | unix.EPOLLET

// NewReaper makes a Reaper. It calls watch for every rank that is started, on the Forker's thread,
// to watch the pidfd for WatchEvents until Reap is called for the process. The end of the rank may
// have come before.
func NewReaper(watch func(pidfd, pid int) error) *Reaper {
	return &Reaper{watch: watch, ranks: make(map[int]*Process)}
}

// add adds a rank that was just started.
func (r *Reaper) add(id, pid, pidfd int, launcher uint64) (*Process, error) {
	if pidfd < 0 {
		return nil, errors.New("the kernel gave no pidfd; Linux 5.4 or later is needed")
	}
	p := &Process{ID: id, Pid: pid, pidfd: pidfd, launcher: launcher}
	r.mu.Lock()
	r.ranks[pid] = p
	r.mu.Unlock()
	if err := r.watch(pidfd, pid); err != nil {
		r.mu.Lock()
		delete(r.ranks, pid)
		r.mu.Unlock()
		return nil, fmt.Errorf("waiting for process %d: %w", pid, err)
	}
	return p, nil
}

// Reap returns the end of the rank with this process id, once; false: it has not ended, or was
// reaped. It does not block.
func (r *Reaper) Reap(pid int) (Exit, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.ranks[pid]
	if p == nil {
		return Exit{}, false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	var ws unix.WaitStatus
	var ru unix.Rusage
	got, err := wait4(pid, &ws, unix.WNOHANG, &ru)
	if got != pid && err == nil {
		return Exit{}, false
	}
	unix.Close(p.pidfd) // this also removes it from the epoll set
	p.pidfd = -1
	delete(r.ranks, pid)
	if r.orphans != nil {
		r.orphans.wake() // it leaves alone what ends after a rank that is not reaped
	}
	exit := Exit{ID: p.ID, Pid: pid, Status: statusOf(ws), Usage: usageOf(&ru, p.launcher)}
	if err != nil {
		// Other code in this process has waited for the rank: an unknown status must not pass as a
		// success.
		exit.Status = ExitStatus{Code: CodeCluster}
	}
	return exit, true
}

func wait4(pid int, ws *unix.WaitStatus, options int, ru *unix.Rusage) (int, error) {
	for {
		got, err := unix.Wait4(pid, ws, options, ru)
		if err != unix.EINTR {
			return got, err
		}
	}
}

// Close leaves running ranks alone; their ends cannot be read any more.
func (r *Reaper) Close() {
	r.mu.Lock()
	o := r.orphans
	r.orphans = nil // Reap wakes it no more
	r.mu.Unlock()
	if o != nil {
		o.stop()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range r.ranks {
		p.mu.Lock()
		unix.Close(p.pidfd)
		p.pidfd = -1
		p.mu.Unlock()
	}
	clear(r.ranks)
}

// orphans is the goroutine that reaps children which are no ranks.
type orphans struct {
	ended chan os.Signal // SIGCHLD; holds one, and a further one changes nothing
	done  chan struct{}
}

// AdoptOrphans makes this process the parent of every descendant whose own parent dies, and the
// Reaper reap them. From then on all children of this process must be the Forker's: the Reaper
// would consume the status of others.
func (r *Reaper) AdoptOrphans() error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("becoming the parent of orphans: %w", err)
	}
	o := &orphans{ended: make(chan os.Signal, 1), done: make(chan struct{})}
	r.mu.Lock()
	r.orphans = o
	r.mu.Unlock()
	signal.Notify(o.ended, unix.SIGCHLD)
	go func() {
		defer close(o.done)
		for range o.ended {
			for r.reapOrphan() {
			}
		}
	}()
	return nil
}

func (o *orphans) wake() {
	select {
	case o.ended <- unix.SIGCHLD:
	default:
	}
}

func (o *orphans) stop() {
	signal.Stop(o.ended)
	close(o.ended)
	<-o.done
}

// reapOrphan reads the status of the ended child that is next, and reports whether there may be
// another. If the child is a rank, Reap reads it and then wakes the goroutine. A fork that is under
// way is waited for, since the child could be its result.
func (r *Reaper) reapOrphan() bool {
	r.starting.Lock()
	defer r.starting.Unlock()
	r.mu.Lock()
	defer r.mu.Unlock()
	pid, ok := endedChild()
	if !ok || r.ranks[pid] != nil {
		return false
	}
	_, _ = wait4(pid, nil, unix.WNOHANG, nil) // it has ended
	return true
}
