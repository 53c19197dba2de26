package switcher

import (
	"score/ctxswitch/quantile"
	"time"
)

const (
	// maxLead bounds how early the timer is set. It is above what a timer takes
	// in a virtual machine.
	maxLead = 50 * time.Microsecond
	// leadPart also bounds the lead, by the time since the last instant: the job that is on loses
	// at most a two-hundredth of it, 0.5 %, and usually a fifth of that.
	leadPart = 200
)

// leadRule aims at four timely wake-ups for each late one.
var leadRule = quantile.Rule{Step: 500 * time.Nanosecond, Odds: 4, Max: maxLead}

// lead is how long before an instant the timer is set: a timer's interrupt, and
// the way from there to the thread, take some 10 us on bare hardware and 30 us
// in a virtual machine, nearly the same each time. The rest is spun.
type lead struct {
	time.Duration
}

// before returns the instant to set the timer to. The thread was last on time at the instant last.
func (l *lead) before(last, instant int64) int64 {
	return instant - max(0, min(l.Nanoseconds(), (instant-last)/leadPart))
}

// woke adapts to a wake-up that came late after the instant of the timer.
func (l *lead) woke(late time.Duration) { l.Duration = leadRule.Next(l.Duration, late > l.Duration) }
