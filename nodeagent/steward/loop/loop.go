package loop

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Loop is a set of descriptors with one goroutine in front of it: the descriptors of thousands of
// ranks that rarely speak cost one kernel object each and no stack. The set is itself a descriptor
// in Go's poller, so that an idle loop holds no thread. Other goroutines may only call Post.
type Loop struct {
	Set
	file     *os.File // of the set
	raw      syscall.RawConn
	deadline time.Time // of file
	wake     int       // an eventfd that is readable while posted is not empty
	events   [Batch]unix.EpollEvent
	ready    int // of events
	err      error
	pollOnce func(uintptr) bool // l.poll, made once
	rested   bool               // the next wait is in Go's poller: the last was longer than a moment, or Yield

	mu     sync.Mutex
	posted []func() // guarded by mu
	closed bool     // guarded by mu
	spare  []func() // the slice that posted will have next
}

// New returns a loop that watches nothing but Post.
func New() (*Loop, error) {
	set, err := NewSet()
	if err != nil {
		return nil, err
	}
	// Go's poller takes only descriptors that do not block.
	if err := unix.SetNonblock(set.fd, true); err != nil {
		CloseFD(set.fd)
		return nil, fmt.Errorf("making an event loop: %w", err)
	}
	l := &Loop{Set: set, file: os.NewFile(uintptr(set.fd), "loop"), wake: -1}
	l.pollOnce = l.poll
	if err := l.open(); err != nil {
		l.Close()
		return nil, fmt.Errorf("making an event loop: %w", err)
	}
	return l, nil
}

// open opens what the loop needs besides its set.
func (l *Loop) open() (err error) {
	if l.raw, err = l.file.SyscallConn(); err != nil {
		return err
	}
	if l.wake, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK); err != nil {
		return err
	}
	return l.Watch(l.wake, unix.EPOLLIN, Tag{Kind: Wake})
}

// Wait returns the next events, or none at the deadline; the zero deadline never comes. The slice
// is valid until the next call.
func (l *Loop) Wait(deadline time.Time) ([]unix.EpollEvent, error) {
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
func (l *Loop) poll(fd uintptr) bool {
	return l.epollWait(int(fd), 0)
}

// epollWait waits for events of the epoll set fd, for at most the given milliseconds.
func (l *Loop) epollWait(fd, millis int) bool {
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
func (l *Loop) pollEvents(deadline time.Time) bool {
	if l.rested || !deadline.IsZero() && time.Until(deadline) < lingerMillis*time.Millisecond {
		return l.poll(uintptr(l.fd))
	}
	return l.epollWait(l.fd, lingerMillis)
}

// Expect announces that the last action causes another event within a moment.
func (l *Loop) Expect() { l.rested = false }

// Yield announces that another goroutine has work: the next wait, in Go's poller, gives up the
// processor.
func (l *Loop) Yield() { l.rested = true }

// Post makes the loop's goroutine run f, soon and in the order of the calls.
// After the loop's end it does nothing.
func (l *Loop) Post(f func()) {
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

// RunPosted runs the posted functions; the goroutine of the loop calls it on Wake.
func (l *Loop) RunPosted() {
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

// Close ends the loop; what was posted and has not run does not run.
func (l *Loop) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return
	}
	l.closed, l.posted = true, nil
	CloseFD(l.wake)
	_ = l.file.Close()
}
