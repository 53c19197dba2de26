package pm

import (
	"score/channels/abi"
	"time"
)

// Nap sleeps until something comes, for at most the given time. It calls stop after it has told the
// node that the rank sleeps, and does not sleep if stop returns true. It is for programs that poll:
// the node sees successive naps as one wait with a deadline, which ends with Awake.
func (c *Channel) Nap(timeout time.Duration, stop func() bool) {
	if c.closed {
		return
	}
	if !c.napping {
		c.napping = true
		c.img.BeginWait(abi.WaitTimed)
	}
	if c.in.Stuck() {
		timeout = min(timeout, stuckSleep)
	}
	c.tally.Sleeps++
	c.showTally()
	c.showStack()
	c.sleep(timeout, func() bool { c.in.ResetIdle(); return c.pollAll() || stop() })
	c.in.ResetIdle()
}

// Awake ends the wait of Nap.
func (c *Channel) Awake() {
	if c.napping && !c.closed {
		c.img.EndWait()
	}
	c.napping = false
}

// Crowded reports whether the job's ranks on this node have fewer CPUs than they are, so that a
// rank that waits should sleep soon.
func (c *Channel) Crowded() bool { return c.spin == 0 }

// Rouse ends a sleep in Nap or Wait before anything has come. Any goroutine may call it while the
// channel is open.
func (c *Channel) Rouse() { c.img.Wake() }
