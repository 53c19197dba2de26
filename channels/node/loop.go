package node

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"runtime"
	"score/channels"
	"score/channels/link"
	"score/flowctl"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

const (
	// niceness lets the loop run beside ranks that compute, which the kernel prefers the longer the
	// loop has slept. Ordinary users may not set it; then the loop is late by a slice of the
	// kernel's scheduler.
	niceness = -10
	// maxEvents is how many events are taken from the kernel at a time.
	maxEvents = 64
)

// Events by number; contexts are numbered from eventFirst on.
const (
	eventWake int32 = iota
	eventTimer
	eventDirectory
	eventTopology
	eventFirst
)

// loop is the one goroutine that drives, with one epoll. Its fields, and those of contexts that are
// marked as the loop's, belong to the holder of work; others post functions.
type loop struct {
	node      *Node
	epoll     int
	timer     int
	wake      int
	directory directory

	mu     sync.Mutex
	posted []func()
	ended  bool

	ordered atomic.Pointer[Job] // those with a new order, a stack
	done    chan struct{}

	// work is held by the goroutine except while it sleeps. Then a caller of Order may hold it; see
	// tryAcquire.
	work      sync.Mutex
	inline    bool   // a caller of Order holds work, and must not wait
	sleep     int    // milliseconds, for epoll_wait
	switching []*Job // those with an order whose end must be reported
	ends      []end  // to be reported
	reported  []end  // memory for the next ones
	unsettled []*Job // those with contexts that left or came back, to be settled by settleBy
	settleBy  int64
	stopping  bool
	armedFor  int64 // what the timer is set to
	events    [maxEvents]unix.EpollEvent
	byEvent   map[int32]*Context
	last      int32 // event number given last
	waiting   []waiting
	scanned   int      // place in waiting where the scan is
	scanning  *Context // checked last
	scanNow   int64
	scan      func()
	notices   []*notice
	topology  topology
	rest      []*Context // of jobs that have ended; see makeRoom
	drives    uint64     // since the beginning
	gone      link.Stats // of the ports of contexts that are gone
}

func newLoop(n *Node) (*loop, error) {
	l := &loop{
		node:     n,
		epoll:    -1,
		timer:    -1,
		wake:     -1,
		done:     make(chan struct{}),
		byEvent:  map[int32]*Context{},
		last:     eventFirst,
		armedFor: flowctl.NoDeadline,
		settleBy: flowctl.NoDeadline,
	}
	l.scan = l.scanOn
	if err := l.open(); err != nil {
		return nil, errors.Join(err, l.closeFiles())
	}
	l.sleep = l.armTimer()
	go l.run()
	return l, nil
}

func (l *loop) open() (err error) {
	if l.epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return os.NewSyscallError("epoll_create1", err)
	}
	if l.timer, err = unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_CLOEXEC|unix.TFD_NONBLOCK); err != nil {
		return os.NewSyscallError("timerfd_create", err)
	}
	if l.wake, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK); err != nil {
		return os.NewSyscallError("eventfd", err)
	}
	if err := l.listen(); err != nil {
		return err
	}
	if err := l.topology.open(l.node, l.directory.fd); err != nil {
		return err
	}
	for _, w := range []struct {
		number int32
		fd     int // negative: there is none
		events uint32
	}{
		{eventWake, l.wake, unix.EPOLLIN | unix.EPOLLET},
		// Edge-triggered: setting the timer again takes the old expiry back without a read.
		{eventTimer, l.timer, unix.EPOLLIN | unix.EPOLLET},
		{eventDirectory, l.directory.fd, unix.EPOLLIN | unix.EPOLLONESHOT},
		{eventTopology, l.topology.fd(), unix.EPOLLIN},
	} {
		if w.fd < 0 {
			continue
		}
		if err := l.control(unix.EPOLL_CTL_ADD, w.fd, w.number, w.events); err != nil {
			return err
		}
	}
	return nil
}

func (l *loop) listen() error {
	l.directory.fd = -1
	if !l.node.config.Address.IsValid() {
		return nil
	}
	return l.directory.open(l.node, l.node.config.Address)
}

func (l *loop) control(op, fd int, number int32, events uint32) error {
	event := unix.EpollEvent{Events: events, Fd: number}
	return os.NewSyscallError("epoll_ctl", unix.EpollCtl(l.epoll, op, fd, &event))
}

func (l *loop) closeFiles() error {
	for _, fd := range []int{l.epoll, l.timer, l.wake} {
		if fd >= 0 {
			unix.Close(fd)
		}
	}
	l.topology.close()
	return l.directory.close()
}

// post makes the loop call f soon; it never waits. After the loop's end nothing is called.
func (l *loop) post(f func()) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return false
	}
	l.posted = append(l.posted, f)
	if len(l.posted) == 1 {
		l.wakeUp()
	}
	return true
}

// wakeWord is what is written to wake the loop.
var wakeWord = binary.NativeEndian.AppendUint64(nil, 1)

func (l *loop) wakeUp() {
	_, _ = unix.Write(l.wake, wakeWord) // fails only if it is awake already
}

// do makes the loop call f and waits for it. The caller holds no lock that the loop takes.
func (l *loop) do(f func()) bool {
	called := make(chan struct{})
	ok := l.post(func() {
		defer close(called)
		f()
	})
	if ok {
		<-called
	}
	return ok
}

// close ends the loop and waits for it; once.
func (l *loop) close() error {
	l.do(func() { l.stopping = true })
	<-l.done
	return l.closeFiles()
}

func (l *loop) run() {
	// The thread ends with the goroutine: its priority is nobody else's.
	runtime.LockOSThread()
	l.raisePriority()
	defer close(l.done)
	for l.turn() {
		continue
	}
	l.ordered.Swap(noOrders)
	l.mu.Lock()
	rest := l.posted
	l.posted, l.ended = nil, true
	l.mu.Unlock()
	for _, f := range rest {
		f()
	}
	report(l.ends)
}

// raisePriority takes the highest priority that the system allows.
func (l *loop) raisePriority() {
	if raise := l.node.config.Raise; raise != nil && raise() == nil {
		return
	}
	_ = unix.Setpriority(unix.PRIO_PROCESS, unix.Gettid(), niceness)
}

// turn waits for something to do, and does it. It reports whether there is another one.
func (l *loop) turn() bool {
	n, err := unix.EpollWait(l.epoll, l.events[:], l.sleep)
	if err != nil && !errors.Is(err, unix.EINTR) {
		panic(fmt.Sprintf("node: epoll_wait: %v", err)) // an own descriptor is bad
	}
	ends, more := l.serveEvents(max(n, 0))
	report(ends)
	return more
}

// serveEvents does what some events require. It returns the steps that are over, to be reported
// without the lock, since their receiver takes it for the next step.
func (l *loop) serveEvents(n int) (ends []end, more bool) {
	l.work.Lock()
	defer l.work.Unlock()
	now := channels.Nanos()
	for i := range n {
		l.event(l.events[i].Fd, now)
	}
	l.callPosted()
	l.startOrders()
	l.settle()
	l.scanDue(channels.Nanos())
	l.reportSwitches()
	l.sendNotices(channels.Nanos())
	l.tendTopology(channels.Nanos())
	l.sleep = l.armTimer()
	ends = l.ends
	l.ends, l.reported = l.reported[:0], ends
	return ends, !l.stopping
}

func (l *loop) event(number int32, now int64) {
	switch number {
	case eventWake:
		var b [8]byte
		_, _ = unix.Read(l.wake, b[:]) // it takes what Write has put there
	case eventTimer:
		l.armedFor = flowctl.NoDeadline
	case eventDirectory:
		l.serve()
	case eventTopology:
		l.serveTopology()
	default:
		if c := l.byEvent[number]; c != nil {
			c.readable = true
			l.at(c, now)
		}
	}
}

func (l *loop) callPosted() {
	l.mu.Lock()
	posted := l.posted
	l.posted = nil
	l.mu.Unlock()
	for _, f := range posted {
		f()
	}
}
