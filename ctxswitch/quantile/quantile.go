// Package quantile estimates a quantile of durations by stochastic approximation (Robbins and
// Monro, 1951). It does not need the durations, only whether each was longer than the estimate.
package quantile

import "time"

// Rule determines which quantile is estimated, how fast, and within which bounds.
type Rule struct {
	Step     time.Duration // by which the estimate falls after a duration that was not longer
	Odds     int           // shorter durations for each longer one
	Min, Max time.Duration
}

// Next returns the estimate after one more duration.
func (r Rule) Next(estimate time.Duration, longer bool) time.Duration {
	if longer {
		return min(estimate+time.Duration(r.Odds)*r.Step, r.Max)
	}
	return max(estimate-r.Step, r.Min)
}
