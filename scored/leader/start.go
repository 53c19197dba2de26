package leader

import "score/scored/api/scorev1"

// started notes what a node says of the start of its part. What it said first stays: it says more as
// time goes on, and the rest again.
func (p *part) started(told *scorev1.NodeStart) {
	if told == nil {
		return
	}
	known := p.start
	// What was known may be on its way to the log or to a user: another message.
	p.start = &scorev1.NodeStart{
		OrderedNanos:   first(known.GetOrderedNanos(), told.GetOrderedNanos()),
		StagedNanos:    first(known.GetStagedNanos(), told.GetStagedNanos()),
		ReadyNanos:     first(known.GetReadyNanos(), told.GetReadyNanos()),
		ForkedNanos:    first(known.GetForkedNanos(), told.GetForkedNanos()),
		InitNanos:      first(known.GetInitNanos(), told.GetInitNanos()),
		ExchangedNanos: first(known.GetExchangedNanos(), told.GetExchangedNanos()),
		FenceNanos:     first(known.GetFenceNanos(), told.GetFenceNanos()),
		Contacts:       min(max(known.GetContacts(), told.GetContacts()), uint32(len(p.Ranks))),
	}
}

// first is a, unless that is no instant.
func first(a, b int64) int64 {
	if a != 0 {
		return a
	}
	return max(b, 0)
}

// startTrace is how the job's start went so far; nil before it has places.
func (j *job) startTrace() *scorev1.StartTrace {
	if len(j.parts) == 0 {
		return nil
	}
	trace := &scorev1.StartTrace{AllocatedNanos: j.allocated, ReadyNanos: j.ready, Nodes: make([]*scorev1.NodeStart, len(j.parts))}
	for i, p := range j.parts {
		if trace.Nodes[i] = p.start; p.start == nil {
			trace.Nodes[i] = &scorev1.NodeStart{}
		}
	}
	return trace
}
