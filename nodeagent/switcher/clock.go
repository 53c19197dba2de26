package switcher

import (
	"score/nodeagent/realtime"
	"time"
)

// clock tells the kernel's monotonic time without a system call, by way of
// time.Now, which reads the same clock from the kernel's shared page.
type clock struct {
	start time.Time
	base  int64 // realtime.Now at start
}

// clockTries is how often start and base are read: the pair read closest
// together is kept, since an interrupt between the two shifts all instants.
const clockTries = 16

func newClock() clock {
	var best clock
	least := time.Duration(1<<63 - 1)
	for range clockTries {
		before := time.Now()
		base := realtime.Now()
		if took := time.Since(before); took < least {
			least, best = took, clock{start: before.Add(took / 2), base: base}
		}
	}
	return best
}

// now is realtime.Now.
func (c clock) now() int64 { return c.base + int64(time.Since(c.start)) }
