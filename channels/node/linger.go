package node

import (
	"time"

	"score/channels"
)

// awayTimes is how many times longer is waited for peers that are not resident, each
// time as long as one is known to be: their row comes on again within seconds.
const awayTimes = 20

// linger drives the contexts until all are settled, or the time is over.
func (l *loop) linger(all []*Context, most time.Duration) {
	if most <= 0 {
		return
	}
	settled := make(chan struct{})
	left := 0
	one := func() {
		if left--; left == 0 {
			close(settled)
		}
	}
	ok := l.do(func() {
		left = 1
		for _, c := range all {
			if c.driver != nil && !c.damaged.Load() && c.number != 0 {
				left++
				c.settled = one
				l.at(c, channels.Nanos())
			}
		}
		one()
	})
	if !ok {
		return
	}
	for range awayTimes {
		if within(settled, most) || !l.heldAway(all) {
			break
		}
	}
	l.do(func() {
		for _, c := range all {
			c.settled = nil
		}
	})
}

func within(done <-chan struct{}, most time.Duration) bool {
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
		return false
	}
}

// heldAway says that what is not settled waits for peers that are not resident.
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
