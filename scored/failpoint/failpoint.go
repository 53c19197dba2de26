package failpoint

import (
	"errors"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// ErrInjected is what Hit returns where the action is error.
var ErrInjected = errors.New("a failpoint failed it")

// action is what happens at a point.
type action uint8

const (
	actionKill action = iota
	actionStop
	actionDelay
	actionError
	actionShift
)

// rule is one item of the list.
type rule struct {
	point  Point
	action action
	by     time.Duration // of delay and shift
	nth    uint64        // 0: each time
	passed atomic.Uint64
}

// set holds the rules of each point.
type set [pointCount][]*rule

// armed holds the failpoints that are set; nil: none.
var armed atomic.Pointer[set]

// Hit is called where a point is. It does what is set there, and returns ErrInjected if the work
// there must fail.
func Hit(p Point) error {
	if s := current(); s != nil {
		return s.hit(p)
	}
	return nil
}

// current returns the failpoints that are set now; nil: none.
func current() *set {
	if f := followed.Load(); f != nil {
		f.settle()
	}
	return armed.Load()
}

// Shift returns how far to shift the value at point p.
func Shift(p Point) (by time.Duration) {
	s := current()
	if s == nil {
		return 0
	}
	for _, r := range s[p] {
		if r.action == actionShift && r.due() {
			by += r.by
		}
	}
	return by
}

func (s *set) hit(p Point) (err error) {
	for _, r := range s[p] {
		if r.action == actionShift || !r.due() {
			continue
		}
		switch r.action {
		case actionKill:
			signalSelf(unix.SIGKILL)
		case actionStop:
			signalSelf(unix.SIGSTOP)
		case actionDelay:
			time.Sleep(r.by)
		case actionError:
			err = ErrInjected
		case actionShift:
		}
	}
	return err
}

// due counts a passing.
func (r *rule) due() bool {
	n := r.passed.Add(1)
	return r.nth == 0 || n == r.nth
}

// signalSelf sends the signal to the calling thread: the kernel acts on it before that thread goes
// on, while a signal to the process might reach another thread first.
func signalSelf(signal unix.Signal) {
	_ = unix.Tgkill(unix.Getpid(), unix.Gettid(), signal) // the caller exists
}
