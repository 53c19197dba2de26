package steward

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// eventBatch is the largest number of events that one wait returns.
const eventBatch = 64

// tag identifies the source of an event. Index is the local rank, the
// connection's number, the process, or unused.
type tag struct {
	kind  kind
	index int32
}

type kind int32

const (
	kindWake kind = iota
	kindListener
	kindPeer
	kindPMI
	kindExit
	kindOutputs
	kindOutput
	kindInput
	kindPMIxListener
	kindPMIx
	kindPath
)

// loop is an epoll set with one goroutine in front of it: the descriptors of thousands of ranks
// that rarely speak cost one kernel object each and no stack. The set is itself a descriptor in
// Go's poller, so that an idle loop holds no thread. Other goroutines may only call post.
type loop struct {
	epoll    int
	file     *os.File // of epoll
	raw      syscall.RawConn
	deadline time.Time // of file
	wake     int       // an eventfd that is readable while posted is not empty
	events   [eventBatch]unix.EpollEvent
	ready    int // of events
	err      error
	pollOnce func(uintptr) bool // l.poll, made once
	rested   bool               // the next wait is in Go's poller: the last was longer than a moment, or yield
	clients  clients

	mu     sync.Mutex
	posted []func() // guarded by mu
	closed bool     // guarded by mu
	spare  []func() // the slice that posted will have next
}

func newLoop() (*loop, error) {
	epoll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("making an event loop: %w", err)
	}
	// Go's poller takes only descriptors that do not block.
	err = unix.SetNonblock(epoll, true)
	l := &loop{epoll: epoll, file: os.NewFile(uintptr(epoll), "loop"), wake: -1}
	l.pollOnce = l.poll
	if err == nil {
		l.raw, err = l.file.SyscallConn()
	}
	if err == nil {
		l.wake, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	}
	if err != nil {
		l.close()
		return nil, fmt.Errorf("making an event loop: %w", err)
	}
	if err := l.watch(l.wake, unix.EPOLLIN, tag{kind: kindWake}); err != nil {
		l.close()
		return nil, err
	}
	return l, nil
}

func (l *loop) watch(fd int, events uint32, t tag) error {
	return control(l.epoll, unix.EPOLL_CTL_ADD, fd, events, t)
}

func (l *loop) changeWatch(fd int, events uint32, t tag) error {
	return control(l.epoll, unix.EPOLL_CTL_MOD, fd, events, t)
}

func (l *loop) unwatch(fd int) {
	// It fails only for a descriptor that is not watched, which is the goal.
	_ = unix.EpollCtl(l.epoll, unix.EPOLL_CTL_DEL, fd, nil)
}

func control(epoll, op, fd int, events uint32, t tag) error {
	event := unix.EpollEvent{Events: events, Fd: int32(t.kind), Pad: t.index}
	if err := unix.EpollCtl(epoll, op, fd, &event); err != nil {
		return fmt.Errorf("watching a descriptor: %w", err)
	}
	return nil
}

func tagOf(e *unix.EpollEvent) tag { return tag{kind: kind(e.Fd), index: e.Pad} }

// wait returns the next events, or none at the deadline; the zero deadline never comes. The slice
// is valid until the next call.
func (l *loop) wait(deadline time.Time) ([]unix.EpollEvent, error) {
	if l.pollEvents(deadline) {
		return l.events[:l.ready], l.err
	}
	if !deadline.Equal(l.deadline) {
		if err := l.file.SetReadDeadline(deadline); err != nil {
			return nil, fmt.Errorf("waiting for events: %w", err)
		}
		l.deadline = deadline
	}
	begin := time.Now()
	err := l.raw.Read(l.pollOnce)
	l.rested = time.Since(begin) > lingerMillis*time.Millisecond
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("waiting for events: %w", err)
	}
	return l.events[:l.ready], l.err
}

// poll polls without waiting, and reports whether there are events.
func (l *loop) poll(fd uintptr) bool {
	return l.epollWait(int(fd), 0)
}

// epollWait waits for events of the epoll set fd, for at most the given milliseconds.
func (l *loop) epollWait(fd, millis int) bool {
	n, err := unix.EpollWait(fd, l.events[:], millis)
	switch {
	case errors.Is(err, unix.EINTR):
		n, err = 0, nil
	case err != nil:
		n, err = 0, fmt.Errorf("waiting for events: %w", err)
	}
	l.ready, l.err = n, err
	return n > 0 || err != nil
}

// lingerMillis is how long a busy loop waits for the next event in epoll_wait itself, in
// milliseconds; epoll has no shorter wait. A wait in Go's poller wakes one more thread, which takes
// half of an empty fence's time on a busy machine. After a longer rest the loop does not wait here,
// since that keeps Go's scheduler busy.
const lingerMillis = 1

// pollEvents polls for events. If another event is expected, it waits for lingerMillis without
// polling first, which would mostly be a wasted system call.
func (l *loop) pollEvents(deadline time.Time) bool {
	if l.rested || !deadline.IsZero() && time.Until(deadline) < lingerMillis*time.Millisecond {
		return l.poll(uintptr(l.epoll))
	}
	return l.epollWait(l.epoll, lingerMillis)
}

// expect announces that the last action causes another event within a moment.
func (l *loop) expect() { l.rested = false }

// yield announces that another goroutine has work: the next wait, in Go's poller, gives up the
// processor.
func (l *loop) yield() { l.rested = true }

// post makes the loop's goroutine run f, soon and in the order of the calls.
// After the loop's end it does nothing.
func (l *loop) post(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return
	}
	l.posted = append(l.posted, f)
	if len(l.posted) == 1 {
		_, _ = unix.Write(l.wake, oneEvent) // it cannot be full: it counts to 2^64
	}
}

var oneEvent = []byte{1, 0, 0, 0, 0, 0, 0, 0}

// runPosted runs the posted functions; the goroutine of the loop calls it on kindWake.
func (l *loop) runPosted() {
	var counter [8]byte
	l.mu.Lock()
	_, _ = unix.Read(l.wake, counter[:]) // under the lock: nothing posted stays unannounced
	fs := l.posted
	l.posted, l.spare = l.spare[:0], nil
	l.mu.Unlock()
	for i, f := range fs {
		f()
		fs[i] = nil
	}
	l.mu.Lock()
	l.spare = fs[:0]
	l.mu.Unlock()
}

func (l *loop) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return
	}
	l.closed, l.posted = true, nil
	closeFD(l.wake)
	_ = l.file.Close()
}

// closeFD closes a descriptor that was only read, or whose writes need no
// report: the kernel releases it in any case.
func closeFD(fd int) {
	if fd >= 0 {
		_ = unix.Close(fd)
	}
}
