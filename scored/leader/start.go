package leader

import "score/scored/api/scorev1"

// onStartReport notes what a node says of the start of its part. What it said first stays: it says
// more as time goes on, and the rest again.
func (c *controller) onStartReport(j *job, p *part, reported *scorev1.NodeStart) {
	if reported == nil {
		return
	}
	known := p.start
	first := func(known, reported, after int64) int64 {
		if known != 0 || reported <= 0 {
			return known
		}
		return within(reported, after, c.now)
	}
	// What was known may be on its way to the log or to a user: another message.
	p.start = &scorev1.NodeStart{
		OrderedNanos:   first(known.GetOrderedNanos(), reported.GetOrderedNanos(), j.allocated),
		StagedNanos:    first(known.GetStagedNanos(), reported.GetStagedNanos(), j.submitted), // perhaps while the job was queued
		ReadyNanos:     first(known.GetReadyNanos(), reported.GetReadyNanos(), j.allocated),
		ForkedNanos:    first(known.GetForkedNanos(), reported.GetForkedNanos(), j.allocated),
		InitNanos:      first(known.GetInitNanos(), reported.GetInitNanos(), j.allocated),
		ExchangedNanos: first(known.GetExchangedNanos(), reported.GetExchangedNanos(), j.allocated),
		FenceNanos:     first(known.GetFenceNanos(), reported.GetFenceNanos(), j.allocated),
		Contacts:       min(max(known.GetContacts(), reported.GetContacts()), uint32(len(p.Ranks))),
	}
}

// within returns the instant at which a node says that something was, or the nearest that can be:
// it came after what led to it, and the news is here. A node's estimate of this clock is off by up
// to half a round trip.
func within(at, after, now int64) int64 { return max(after, min(at, now)) }

// startTrace returns how the job's start went so far; nil before it has places.
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
