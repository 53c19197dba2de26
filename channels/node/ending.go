package node

import (
	"score/channels/abi"
	"score/channels/link"
	"score/flowctl"
	"time"
)

// Limits of announcing a context's end.
const (
	// maxEndWait bounds the wait for the delivery of earlier messages before an end is announced:
	// after the notice of a death peers accept nothing more. Usually delivery is immediate.
	maxEndWait = int64(time.Second)
	// maxNotices is how often the end is announced: datagrams get lost, and peers that only receive
	// learn it no other way.
	maxNotices = 3
	// firstNoticeWait is the wait after the first notice; the next wait is ten times as long.
	firstNoticeWait = int64(10 * time.Millisecond)
)

// ending is the progress of announcing a context's end.
type ending struct {
	since int64 // when the loop saw the end; 0: it has not ended
	sent  int
	next  int64
}

func noticeWait(sent int) int64 {
	wait := firstNoticeWait
	for range sent {
		wait *= 10
	}
	return wait
}

// end announces the context's end to its peers. The caller must hold the lock. It returns when to
// call end again.
func (c *Context) end(now int64) int64 {
	state, e := c.img.State(), &c.ending
	if state == abi.StateOpen || e.sent >= maxNotices {
		return flowctl.NoDeadline
	}
	if c.residing.Away() {
		if e.sent == 0 {
			e.since = 0 // earlier messages are delivered when it is back
		}
		return flowctl.NoDeadline
	}
	how := link.EndClosed
	if state == abi.StateGone {
		how = link.EndDied
	}
	if e.since == 0 {
		e.since, e.next = now, now+maxEndWait
	}
	if now < e.next && (e.sent > 0 || !c.driver.Settled()) {
		return e.next
	}
	c.driver.Announce(how)
	if e.sent == 0 && how == link.EndDied {
		c.job.notify(c.name)
	}
	e.next = now + noticeWait(e.sent)
	if e.sent++; e.sent >= maxNotices {
		return flowctl.NoDeadline
	}
	return e.next
}
