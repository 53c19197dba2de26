package loop

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Batch is the largest number of events that a wait returns.
const Batch = 64

// Kind is the kind of an event's source. Each user of a loop has its own kinds, from 1 on.
type Kind int32

// Wake is the kind of the event after which Loop.RunPosted must be called.
const Wake Kind = 0

// Tag identifies the source of an event. What Index means depends on the kind.
type Tag struct {
	Kind  Kind
	Index int32
}

// TagOf returns the tag with which the source of an event is watched.
func TagOf(e *unix.EpollEvent) Tag { return Tag{Kind: Kind(e.Fd), Index: e.Pad} }

// Set is an epoll set. A loop can watch a set: one change stops or starts all that is in it.
type Set struct{ fd int }

// NewSet returns an empty set.
func NewSet() (Set, error) {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return Set{fd: -1}, fmt.Errorf("making an epoll set: %w", err)
	}
	return Set{fd: fd}, nil
}

// FD returns the descriptor of the set.
func (s Set) FD() int { return s.fd }

// Watch adds a descriptor, for the given events (unix.EPOLLIN and so on).
func (s Set) Watch(fd int, events uint32, t Tag) error {
	return s.control(unix.EPOLL_CTL_ADD, fd, events, t)
}

// ChangeWatch changes the events of a descriptor that is watched.
func (s Set) ChangeWatch(fd int, events uint32, t Tag) error {
	return s.control(unix.EPOLL_CTL_MOD, fd, events, t)
}

// Unwatch removes a descriptor. Closing the descriptor is not enough: while a rank is between fork
// and exec it has a copy of every descriptor, and the kernel watches a file until its last copy is
// closed.
func (s Set) Unwatch(fd int) {
	// It fails only for a descriptor that is not watched, which is the goal.
	_ = unix.EpollCtl(s.fd, unix.EPOLL_CTL_DEL, fd, nil)
}

func (s Set) control(op, fd int, events uint32, t Tag) error {
	event := unix.EpollEvent{Events: events, Fd: int32(t.Kind), Pad: t.Index}
	if err := unix.EpollCtl(s.fd, op, fd, &event); err != nil {
		return fmt.Errorf("watching a descriptor: %w", err)
	}
	return nil
}

// Ready returns the events that are there, without waiting. They use the given array.
func (s Set) Ready(events *[Batch]unix.EpollEvent) []unix.EpollEvent {
	n, err := unix.EpollWait(s.fd, events[:], 0)
	if err != nil {
		return nil // EINTR: the set is level-triggered and reports them again
	}
	return events[:n]
}

// CloseFD closes a descriptor that was only read, or whose writes need no report: the kernel
// releases it in any case. It does nothing with a negative one.
func CloseFD(fd int) {
	if fd >= 0 {
		_ = unix.Close(fd)
	}
}
