package steward

import (
	"score/nodeagent/fence"
	"score/nodeagent/realtime"
	"score/scored/api/scorev1"
)

// phases holds the instants at which the phases of the job's start ended here, by CLOCK_MONOTONIC
// in nanoseconds; 0: not reached. Each costs one reading of the clock, so they are always recorded.
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
		p.init = realtime.Now()
	}
}

// exchanged records that the data of all nodes for a fence has arrived, and calls f, which answers
// the ranks.
func (s *steward) exchanged(kind fence.Kind, f func()) {
	first := kind == fence.KindFence && s.phases.exchanged == 0
	if first {
		s.phases.exchanged = realtime.Now()
	}
	f()
	if first {
		s.phases.fence = realtime.Now()
	}
}

// message returns the report to the agent.
func (p *phases) message() *scorev1.NodeStart {
	return &scorev1.NodeStart{
		ReadyNanos: p.ready, ForkedNanos: p.forked, InitNanos: p.init,
		ExchangedNanos: p.exchanged, FenceNanos: p.fence, Contacts: p.contacts,
	}
}
