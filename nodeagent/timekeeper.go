package nodeagent

import (
	"sync"

	"go.uber.org/zap"

	"score/nodeagent/clock"
	"score/nodeagent/realtime"
	"score/scored/failpoint"
)

// timekeeper knows the cluster's time; it is the uplink's Clock.
type timekeeper struct {
	// changed tells the switching thread of a new estimate.
	changed func(term uint64, offset int64)
	log     *zap.Logger

	mu     sync.Mutex
	filter clock.Filter
}

// Sample takes a heartbeat's round trip.
func (t *timekeeper) Sample(term uint64, sent, cluster, received int64) {
	_ = failpoint.Hit(failpoint.ClockSample) // cannot fail
	cluster += failpoint.Shift(failpoint.ClockSample).Nanoseconds()
	t.mu.Lock()
	err := t.filter.Add(term, clock.Sample{Sent: sent, Server: cluster, Received: received})
	estimate, ok := t.filter.Estimate(realtime.Now())
	t.mu.Unlock()
	if err != nil {
		t.log.Debug("heartbeat not used", zap.Error(err))
	}
	if ok {
		t.changed(estimate.Term, estimate.Offset)
	}
}

// Reading is the present estimate; all 0 before there is one.
func (t *timekeeper) Reading() (offset, errorBound, roundTrip int64) {
	estimate := t.estimate()
	return estimate.Offset, estimate.ErrorBound.Nanoseconds(), estimate.RTT.Nanoseconds()
}

func (t *timekeeper) estimate() clock.Estimate {
	t.mu.Lock()
	defer t.mu.Unlock()
	estimate, _ := t.filter.Estimate(realtime.Now())
	return estimate
}

// cluster converts an instant of this machine's monotonic clock; 0, which is no
// instant, as long as the cluster's is not known.
func (t *timekeeper) cluster(local int64) int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	estimate, ok := t.filter.Estimate(realtime.Now())
	if !ok {
		return 0
	}
	return local + estimate.Offset
}
