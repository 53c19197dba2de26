package launch

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// reapBatch bounds the events of one epoll_wait.
const reapBatch = 64

// Reaper waits for all ranks in one goroutine: an epoll set of their pidfds,
// which is itself a descriptor in Go's poller, so that no thread is held.
type Reaper struct {
	onExit func(Exit)
	poll   *os.File // the epoll set
	epfd   int

	// starting is held from before a fork until the rank is known, so that a rank is not taken for
	// an orphan.
	starting sync.Mutex

	mu    sync.Mutex
	ranks map[int]*Process // by pid

	orphans *orphans // nil unless AdoptOrphans was called
	done    chan struct{}
}

// NewReaper starts a Reaper. It calls onExit once for every rank, in the order of their ends, one
// call at a time.
func NewReaper(onExit func(Exit)) (*Reaper, error) {
	epfd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("making a reaper: %w", err)
	}
	// Go's poller takes only descriptors that do not block.
	if err := unix.SetNonblock(epfd, true); err != nil {
		unix.Close(epfd)
		return nil, fmt.Errorf("making a reaper: %w", err)
	}
	r := &Reaper{
		onExit: onExit,
		poll:   os.NewFile(uintptr(epfd), "reaper"),
		epfd:   epfd,
		ranks:  make(map[int]*Process),
		done:   make(chan struct{}),
	}
	raw, err := r.poll.SyscallConn()
	if err != nil {
		r.poll.Close()
		return nil, fmt.Errorf("making a reaper: %w", err)
	}
	go r.run(raw)
	return r, nil
}

// watch adds a rank that was just started.
func (r *Reaper) watch(id, pid, pidfd int, launcher uint64) (*Process, error) {
	if pidfd < 0 {
		return nil, errors.New("the kernel gave no pidfd; Linux 5.4 or later is needed")
	}
	p := &Process{ID: id, Pid: pid, pidfd: pidfd, launcher: launcher}
	r.mu.Lock()
	r.ranks[pid] = p
	r.mu.Unlock()
	// Edge-triggered: if a debugger holds a rank, its end is reported before its status can be
	// read, and again when it can.
	event := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLET, Fd: int32(pid)}
	if err := unix.EpollCtl(r.epfd, unix.EPOLL_CTL_ADD, pidfd, &event); err != nil {
		r.mu.Lock()
		delete(r.ranks, pid)
		r.mu.Unlock()
		return nil, fmt.Errorf("waiting for process %d: %w", pid, err)
	}
	return p, nil
}

func (r *Reaper) run(raw syscall.RawConn) {
	defer close(r.done)
	events := make([]unix.EpollEvent, reapBatch)
	for {
		n := 0
		err := raw.Read(func(fd uintptr) bool {
			n, _ = unix.EpollWait(int(fd), events, 0)
			return n > 0
		})
		if err != nil {
			return // closed
		}
		for _, e := range events[:n] {
			if e.Fd == orphanEvent {
				r.reapOrphans()
				continue
			}
			r.reap(int(e.Fd))
		}
	}
}

// reap reads the status of a rank that has ended.
func (r *Reaper) reap(pid int) {
	r.mu.Lock()
	p := r.ranks[pid]
	r.mu.Unlock()
	if p == nil {
		return // already reaped, by reapOrphans
	}
	p.mu.Lock()
	var ws unix.WaitStatus
	var ru unix.Rusage
	got, err := wait4(pid, &ws, unix.WNOHANG, &ru)
	if got != pid && err == nil {
		p.mu.Unlock()
		return
	}
	unix.Close(p.pidfd) // this also removes it from the epoll set
	p.pidfd = -1
	p.mu.Unlock()
	r.mu.Lock()
	delete(r.ranks, pid)
	r.mu.Unlock()
	exit := Exit{ID: p.ID, Pid: pid, Status: statusOf(ws), Usage: usageOf(&ru, p.launcher)}
	if err != nil {
		// Other code in this process has waited for the rank: an unknown status must not pass as a
		// success.
		exit.Status = ExitStatus{Code: CodeCluster}
	}
	r.onExit(exit)
}

func wait4(pid int, ws *unix.WaitStatus, options int, ru *unix.Rusage) (int, error) {
	for {
		got, err := unix.Wait4(pid, ws, options, ru)
		if err != unix.EINTR {
			return got, err
		}
	}
}

// Close stops the goroutine and waits for it. It leaves running ranks alone, and their ends are not
// reported.
func (r *Reaper) Close() {
	if r.orphans != nil {
		r.orphans.stop()
	}
	r.poll.Close()
	<-r.done
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

// orphanEvent marks a SIGCHLD in the epoll set; it is not a process id.
const orphanEvent = 0

// orphans turns SIGCHLD into an event of the reaper's epoll set.
type orphans struct {
	signals chan os.Signal
	eventfd int
	done    chan struct{}
}

// AdoptOrphans makes this process the parent of every descendant whose own parent dies, and the
// Reaper reap them. From then on all children of this process must be the Forker's: the Reaper
// would consume the status of others.
func (r *Reaper) AdoptOrphans() error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("becoming the parent of orphans: %w", err)
	}
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return fmt.Errorf("waiting for orphans: %w", err)
	}
	event := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLET, Fd: orphanEvent}
	if err := unix.EpollCtl(r.epfd, unix.EPOLL_CTL_ADD, fd, &event); err != nil {
		unix.Close(fd)
		return fmt.Errorf("waiting for orphans: %w", err)
	}
	r.orphans = &orphans{signals: make(chan os.Signal, 1), eventfd: fd, done: make(chan struct{})}
	signal.Notify(r.orphans.signals, unix.SIGCHLD)
	go r.orphans.run()
	return nil
}

func (o *orphans) run() {
	defer close(o.done)
	one := []byte{1, 0, 0, 0, 0, 0, 0, 0}
	for range o.signals {
		// If the counter is full, the event is already pending.
		_, _ = unix.Write(o.eventfd, one)
	}
}

func (o *orphans) stop() {
	signal.Stop(o.signals)
	close(o.signals)
	<-o.done
	unix.Close(o.eventfd)
}

// reapOrphans reads the status of every ended child that is no rank. Ended ranks among them are
// reported as usual.
func (r *Reaper) reapOrphans() {
	for {
		pid, ok := endedChild()
		if !ok {
			return
		}
		if r.isRank(pid) {
			r.reap(pid)
			continue
		}
		_, _ = wait4(pid, nil, unix.WNOHANG, nil)
	}
}

// isRank reports whether a child is a rank. It waits for a fork that is under way, since the child
// could be its result.
func (r *Reaper) isRank(pid int) bool {
	r.starting.Lock()
	defer r.starting.Unlock()
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ranks[pid] != nil
}
