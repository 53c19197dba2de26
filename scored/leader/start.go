package leader

import "score/scored/api/scorev1"

// onStartReport records a node's report on the start of its part. The first report of each value
// stays: later reports repeat it and add others.
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
	// The old message may be on its way to the log or to a user: make a new one.
	p.start = &scorev1.NodeStart{
		OrderedNanos:   first(known.GetOrderedNanos(), reported.GetOrderedNanos(), j.allocated),
		StagedNanos:    first(known.GetStagedNanos(), reported.GetStagedNanos(), j.submitted), // may be before the job had places
		ReadyNanos:     first(known.GetReadyNanos(), reported.GetReadyNanos(), j.allocated),
		ForkedNanos:    first(known.GetForkedNanos(), reported.GetForkedNanos(), j.allocated),
		InitNanos:      first(known.GetInitNanos(), reported.GetInitNanos(), j.allocated),
		ExchangedNanos: first(known.GetExchangedNanos(), reported.GetExchangedNanos(), j.allocated),
		FenceNanos:     first(known.GetFenceNanos(), reported.GetFenceNanos(), j.allocated),
		Contacts:       min(max(known.GetContacts(), reported.GetContacts()), uint32(len(p.Ranks))),
	}
}

// within clamps an instant that a node reports to the possible range: after its cause, and before
// now. A node's estimate of this clock is off by up to half a round trip.
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
