// Package quantile estimates a quantile of durations that need not be known: for each duration it
// needs only whether that was longer than the estimate. It is a stochastic approximation (Robbins
// and Monro, 1951).
package quantile

import "time"

// Rule defines the quantile, the step of the estimate and its bounds.
type Rule struct {
	Step     time.Duration // by which the estimate falls after a duration that was not longer
	Odds     int           // how many of those there are for each that is longer
	Min, Max time.Duration
}

// Next returns the estimate after one more duration.
func (r Rule) Next(estimate time.Duration, longer bool) time.Duration {
	if longer {
		return min(estimate+time.Duration(r.Odds)*r.Step, r.Max)
	}
	return max(estimate-r.Step, r.Min)
}
