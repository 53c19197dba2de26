package node

import (
	"score/channels"
	"score/flowctl"

	"golang.org/x/sys/unix"
)

// waiting is a context with the time of its next check. Contexts that only
// wait for the network have no entry.
type waiting struct {
	at int64
	c  *Context
}

// scanDue checks all contexts whose time has come.
func (l *loop) scanDue(now int64) {
	l.scanned, l.scanNow = 0, now
	for l.scanned < len(l.waiting) {
		// One Guard for the whole scan: a fault ends it at the context at fault.
		if err := channels.Guard(l.scan); err != nil {
			l.abandon(l.scanning, err)
		}
	}
}

func (l *loop) scanOn() {
	for l.scanned < len(l.waiting) {
		w := l.waiting[l.scanned]
		if w.at <= l.scanNow {
			l.scanning = w.c
			l.checkContext(w.c, channels.Nanos())
		}
		if l.scanned < len(l.waiting) && l.waiting[l.scanned].c == w.c {
			l.scanned++ // else another one took its place
		}
	}
}

// at sets the context's next check; flowctl.NoDeadline: not before something comes.
func (l *loop) at(c *Context, at int64) {
	switch i := c.place; {
	case at == flowctl.NoDeadline && i >= 0:
		end := len(l.waiting) - 1
		l.waiting[i] = l.waiting[end]
		l.waiting[i].c.place = i
		l.waiting[end] = waiting{}
		l.waiting = l.waiting[:end]
		c.place = -1
	case at == flowctl.NoDeadline:
	case i >= 0:
		l.waiting[i].at = at
	default:
		c.place = len(l.waiting)
		l.waiting = append(l.waiting, waiting{at: at, c: c})
	}
}

// armTimer sets the timer to the next check, and returns how long epoll may wait: for ever, or not
// at all.
func (l *loop) armTimer() int {
	next := min(l.nextNotice(), l.settleBy, l.topology.again, l.topology.check)
	for _, j := range l.switching {
		next = min(next, j.residence.Deadline())
	}
	for i := range l.waiting {
		next = min(next, l.waiting[i].at)
	}
	if next != flowctl.NoDeadline && next <= channels.Nanos() {
		return 0
	}
	if next != l.armedFor {
		var spec unix.ItimerSpec // zero: off
		if next != flowctl.NoDeadline {
			spec.Value = unix.NsecToTimespec(next)
		}
		_ = unix.TimerfdSettime(l.timer, unix.TFD_TIMER_ABSTIME, &spec, nil) // the value is a valid one
		l.armedFor = next
	}
	return -1
}
