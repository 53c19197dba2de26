package node

import (
	"time"

	"score/channels"
)

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
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-settled:
	case <-timer.C:
	}
	l.do(func() {
		for _, c := range all {
			c.settled = nil
		}
	})
}
