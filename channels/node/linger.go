package node

import (
	"score/channels"
	"slices"
	"time"
)

// awayTimes is how many times the wait is extended while peers are known to be not resident: their
// row comes on again within seconds.
const awayTimes = 20

// maxNoticeTime is longer than all notices of an end take.
const maxNoticeTime = 200 * time.Millisecond

// linger drives the contexts until all are settled: while the job goes on elsewhere as long as
// that takes, then within the time given. over is nil for a job that goes on nowhere.
func (l *loop) linger(all []*Context, over <-chan struct{}, timeout time.Duration) {
	if over == nil && timeout <= 0 {
		return
	}
	settled := make(chan struct{})
	left := 0
	one := func() {
		if left--; left == 0 {
			close(settled)
		}
	}
	networked := false
	ok := l.do(func() {
		left = 1
		for _, c := range all {
			if c.driver != nil && !c.damaged.Load() && c.number != 0 {
				left++
				networked, c.settled = true, one
				l.at(c, channels.Nanos())
			}
		}
		one()
	})
	if !ok || !networked {
		return
	}
	if over != nil {
		awaitEnd(settled, over)
	}
	l.do(func() {
		l.rest = append(l.rest, all...)
		l.makeRoom()
	})
	for range awayTimes {
		if within(settled, timeout) || !l.heldAway(all) {
			break
		}
	}
	l.do(func() {
		for _, c := range all {
			c.settled = nil
		}
		l.rest = slices.DeleteFunc(l.rest, func(c *Context) bool { return c.job == all[0].job })
	})
}

// awaitEnd waits until the contexts are settled and their ends are announced, or the job is over.
func awaitEnd(settled, over <-chan struct{}) {
	select {
	case <-settled:
		within(over, maxNoticeTime)
	case <-over:
	}
}

func within(done <-chan struct{}, timeout time.Duration) bool {
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
		return false
	}
}

// heldAway reports that what is not settled waits for peers that are not resident.
func (l *loop) heldAway(all []*Context) (held bool) {
	l.do(func() {
		for _, c := range all {
			if c.settled != nil {
				l.guarded(c, func() { held = held || c.driver.HeldAway() })
			}
		}
	})
	return held
}

// makeRoom drops contexts of ended jobs, the oldest first, while more are on the network than the
// node has channels: nobody reads what they still send.
func (l *loop) makeRoom() {
	if len(l.rest) == 0 || l.node.config.Channels == 0 {
		return
	}
	for over := l.resident() - l.node.config.Channels; over > 0 && len(l.rest) > 0; {
		c := l.rest[0]
		l.rest = l.rest[1:]
		if c.number != 0 {
			l.detach(c)
			over--
		}
	}
}

// resident counts the contexts that are not away.
func (l *loop) resident() int {
	n := 0
	for _, c := range l.byEvent {
		if !c.residing.Away() {
			n++
		}
	}
	return n
}
