package pm

import (
	"score/channels/abi"
	"time"
)

// Nap sleeps until something comes, and no longer than the time. stop is called after the node has
// seen that the rank sleeps; if it returns true there is no sleep. It is for programs that only look:
// the node is told of one wait with a deadline, which goes on from nap to nap until Awake.
func (c *Channel) Nap(most time.Duration, stop func() bool) {
	if c.closed {
		return
	}
	if !c.napping {
		c.napping = true
		c.img.BeginWait(abi.WaitTimed)
	}
	if c.in.Stuck() {
		most = min(most, stuckSleep)
	}
	c.tally.Sleeps++
	c.showTally()
	c.showStack()
	c.sleep(most, func() bool { c.in.ResetIdle(); return c.pollAll() || stop() })
	c.in.ResetIdle()
}

// Awake ends the wait of Nap.
func (c *Channel) Awake() {
	if c.napping && !c.closed {
		c.img.EndWait()
	}
	c.napping = false
}

// Rouse ends a sleep in Nap or Wait before anything has come. Any goroutine may call it while the
// channel is open.
func (c *Channel) Rouse() { c.img.Wake() }
