package switcher

import "time"

const (
	// maxLead bounds how much too early the thread has itself woken. It is above
	// what a timer takes in a virtual machine.
	maxLead = 50 * time.Microsecond
	// leadPart bounds it by the time since the last instant as well: the job that
	// is on loses at most a two-hundredth of it, 0.5 %, and usually a fifth of that.
	leadPart = 200
	// leadStep is by how much the lead changes with one wake-up.
	leadStep = 500 * time.Nanosecond
	// leadOdds makes it rest where that many wake-ups are in time for each that
	// is late.
	leadOdds = 4
)

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

// woke learns from a wake-up that came late after the instant the timer was set
// to. It is a stochastic approximation of a quantile (Robbins and Monro, 1951).
func (l *lead) woke(late time.Duration) {
	if late > l.Duration {
		l.Duration = min(l.Duration+leadOdds*leadStep, maxLead)
	} else {
		l.Duration = max(l.Duration-leadStep, 0)
	}
}
