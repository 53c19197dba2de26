package steward

import (
	"score/nodeagent/fence"
	"score/scored/api/scorev1"
)

// phases are the instants at which the phases of the job's start were over here, by
// CLOCK_MONOTONIC in nanoseconds; 0: not reached. They cost a look at the clock each, so they
// are always kept.
type phases struct {
	ready, forked          int64
	contacts               uint32 // ranks that made contact
	init, exchanged, fence int64
}

// onContact notes that local rank k made contact; it is called once for each rank.
func (s *steward) onContact(k int) {
	s.life.Spoke(k)
	p := &s.phases
	if p.contacts++; p.contacts == uint32(len(s.job.ranks)) {
		p.init = monotonicNanos()
	}
}

// exchanged notes that what all nodes gave to a fence is here, and has f answer the ranks.
func (s *steward) exchanged(kind fence.Kind, f func()) {
	first := kind == fence.KindFence && s.phases.exchanged == 0
	if first {
		s.phases.exchanged = monotonicNanos()
	}
	f()
	if first {
		s.phases.fence = monotonicNanos()
	}
}

// message is what the agent is told.
func (p *phases) message() *scorev1.NodeStart {
	return &scorev1.NodeStart{
		ReadyNanos: p.ready, ForkedNanos: p.forked, InitNanos: p.init,
		ExchangedNanos: p.exchanged, FenceNanos: p.fence, Contacts: p.contacts,
	}
}
