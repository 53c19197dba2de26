// Package timekeeper keeps the cluster's time on a node (package clock) for all its goroutines.
package timekeeper

import (
	"score/nodeagent/clock"
	"score/nodeagent/realtime"
	"score/scored/failpoint"
	"sync"

	"go.uber.org/zap"
)

// Keeper knows the cluster's time; it is the uplink's Clock.
type Keeper struct {
	log     *zap.Logger
	changed func(term uint64, offset int64)

	mu     sync.Mutex
	filter clock.Filter
}

// New returns a keeper that calls changed with each new estimate.
func New(log *zap.Logger, changed func(term uint64, offset int64)) *Keeper {
	return &Keeper{log: log, changed: changed}
}

// Sample records a heartbeat's round trip.
func (k *Keeper) Sample(term uint64, s clock.Sample) {
	_ = failpoint.Hit(failpoint.ClockSample) // cannot fail
	shift := failpoint.Shift(failpoint.ClockSample).Nanoseconds()
	s.Arrived, s.Left = s.Arrived+shift, s.Left+shift
	k.mu.Lock()
	err := k.filter.Add(term, s)
	estimate, ok := k.filter.Estimate(realtime.Now())
	k.mu.Unlock()
	if err != nil {
		k.log.Debug("heartbeat not used", zap.Error(err))
	}
	if ok {
		k.changed(estimate.Term, estimate.Offset)
	}
}

// Reading returns the present estimate, in nanoseconds; all 0 before there is one.
func (k *Keeper) Reading() (offset, errorBound, roundTrip int64) {
	estimate := k.Estimate()
	return estimate.Offset, estimate.ErrorBound.Nanoseconds(), estimate.RTT.Nanoseconds()
}

// Estimate returns the present estimate of the offset.
func (k *Keeper) Estimate() clock.Estimate {
	k.mu.Lock()
	defer k.mu.Unlock()
	estimate, _ := k.filter.Estimate(realtime.Now())
	return estimate
}

// Cluster converts an instant of this machine's monotonic clock to the cluster's. It returns 0,
// which is no instant, while the cluster's time is not known.
func (k *Keeper) Cluster(local int64) int64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	estimate, ok := k.filter.Estimate(realtime.Now())
	if !ok {
		return 0
	}
	return local + estimate.Offset
}
