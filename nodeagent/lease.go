package nodeagent

import (
	"score/nodeagent/realtime"
	"score/nodeagent/timekeeper"
)

// Jobs that may be begun anew elsewhere have a lease: their ranks live only as
// long as the node hears a leader. The stewards keep it, which outlive the agent.

// leaseKeeper is the uplink's Clock, and renews the leases with each heartbeat that
// was answered: what counts is when it was sent, since the leader heard it later.
type leaseKeeper struct {
	*timekeeper.Keeper
	agent *Agent
}

// Sample takes a heartbeat's round trip.
func (k leaseKeeper) Sample(term uint64, sent, cluster, received int64) {
	k.Keeper.Sample(term, sent, cluster, received)
	k.agent.answered.Store(sent)
	for _, j := range k.agent.jobs.All() {
		if lease := j.order.GetLeaseNanos(); lease > 0 {
			if steward := j.stewardOf(); steward != nil {
				_ = steward.Lease(sent + lease) // one that is gone has ended its ranks
			}
		}
	}
}

// leaseUntil is how long the ranks of a new job may live at first, by
// CLOCK_MONOTONIC; 0: the job has no lease.
func (j *job) leaseUntil() int64 {
	lease := j.order.GetLeaseNanos()
	if lease <= 0 {
		return 0
	}
	answered := j.agent.answered.Load()
	if answered == 0 {
		answered = realtime.Now() // by the order, as no heartbeat was answered yet
	}
	return answered + lease
}
