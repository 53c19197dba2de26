package node

import (
	"score/channels/abi"
	"score/channels/link"
	"score/flowctl"
	"time"
)

// Bounds of a context's end.
const (
	// endMost bounds how long the news of an end waits until what was sent before has
	// arrived: after the news of a death nothing is taken any more. As a rule that is at once.
	endMost = int64(time.Second)
	// tellings is how often the news is sent: datagrams get lost, and who only receives
	// is not told otherwise.
	tellings = 3
	// firstRetelling is the wait after the first telling; the next is ten times as long.
	firstRetelling = int64(10 * time.Millisecond)
)

// ending is how far the end of a context is told.
type ending struct {
	since int64 // when the loop saw that it ended; 0: it has not
	told  int
	next  int64
}

func retelling(told int) int64 {
	wait := firstRetelling
	for range told {
		wait *= 10
	}
	return wait
}

// end tells the peers when the context has ended; under the lock. It returns when to
// be called again.
func (c *Context) end(now int64) int64 {
	state, e := c.img.State(), &c.ending
	if state == abi.StateOpen || e.told >= tellings {
		return flowctl.NoDeadline
	}
	if c.residing.Away() {
		if e.told == 0 {
			e.since = 0 // what was sent before goes on when it is back
		}
		return flowctl.NoDeadline
	}
	how := link.EndClosed
	if state == abi.StateGone {
		how = link.EndDied
	}
	if e.since == 0 {
		e.since, e.next = now, now+endMost
	}
	if now < e.next && (e.told > 0 || !c.driver.Settled()) {
		return e.next
	}
	c.driver.Announce(how)
	if e.told == 0 && how == link.EndDied {
		c.job.notify(c.name)
	}
	e.next = now + retelling(e.told)
	if e.told++; e.told >= tellings {
		return flowctl.NoDeadline
	}
	return e.next
}
