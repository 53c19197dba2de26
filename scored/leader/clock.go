package leader

import "time"

// Clock is the cluster's time: the real time at which the leader started to lead, advanced by its
// monotonic clock. So it never jumps while this server leads.
type Clock struct {
	start time.Time
	base  int64 // cluster nanoseconds at start
}

// newClock starts at the real time, but not before the last entry of the log: cluster time never
// runs backwards, even if a server's real time does.
func newClock(last int64) *Clock {
	start := time.Now()
	return &Clock{start: start, base: max(start.UnixNano(), last)}
}

// Now returns the cluster's time in nanoseconds since the Unix epoch.
func (c *Clock) Now() int64 { return c.base + time.Since(c.start).Nanoseconds() }
