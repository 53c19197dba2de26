package leader

import (
	"math"
	"score/scored/api/scorev1"
)

// recordUsage records a node's latest report on the usage of the part.
func (p *part) recordUsage(usage *scorev1.Usage, now int64) {
	if usage.Fences == nil {
		usage.Fences = p.usage.GetFences() // from before the agent's restart, until there is a new report
	}
	if usage.Messages = notLess(p.usage.GetMessages(), usage.GetMessages()); p.rates.usage != nil {
		p.rates.measure(usage, now)
	} else {
		p.rates.from, p.rates.usage = now, usage
	}
	// The largest process may have ended, and a restarted agent may not have found all processes
	// yet.
	usage.CpuNanos = max(usage.GetCpuNanos(), p.usage.GetCpuNanos())
	usage.MaxRssBytes = max(usage.GetMaxRssBytes(), p.usage.GetMaxRssBytes())
	p.usage = usage
}

// usage sums the nodes' reports.
func (j *job) usage() *scorev1.Usage {
	sum := &scorev1.Usage{}
	for _, p := range j.parts {
		sum.CpuNanos += p.usage.GetCpuNanos()
		sum.LateFreezes += p.usage.GetLateFreezes()
		sum.RunNanos = max(sum.RunNanos, p.usage.GetRunNanos())
		sum.Slices = max(sum.Slices, p.usage.GetSlices())
		sum.SwitchNanos = max(sum.SwitchNanos, p.usage.GetSwitchNanos())
		sum.MaxRssBytes = max(sum.MaxRssBytes, p.usage.GetMaxRssBytes())
		sum.Messages = mergeMessages(sum.Messages, p.usage.GetMessages(), add)
		sum.Fences = meetFences(sum.Fences, p.usage.GetFences())
	}
	return addEarlier(sum, j.earlier)
}

// addEarlier adds the usage of earlier attempts.
func addEarlier(sum, earlier *scorev1.Usage) *scorev1.Usage {
	if earlier == nil {
		return sum
	}
	sum.CpuNanos += earlier.GetCpuNanos()
	sum.LateFreezes += earlier.GetLateFreezes()
	sum.RunNanos += earlier.GetRunNanos()
	sum.Slices += earlier.GetSlices()
	sum.SwitchNanos += earlier.GetSwitchNanos()
	sum.MaxRssBytes = max(sum.MaxRssBytes, earlier.GetMaxRssBytes())
	sum.Messages = mergeMessages(sum.Messages, earlier.GetMessages(), add)
	if was, is := earlier.GetFences(), sum.GetFences(); was != nil {
		sum.Fences = &scorev1.Fences{
			Fences: add(was.GetFences(), is.GetFences()), PlainBytes: add(was.GetPlainBytes(), is.GetPlainBytes()),
			PackedBytes: add(was.GetPackedBytes(), is.GetPackedBytes()),
		}
	}
	return sum
}

// shares returns the reports of the job's nodes.
func (j *job) shares() []*scorev1.NodeShare {
	shares := make([]*scorev1.NodeShare, len(j.parts))
	for i, p := range j.parts {
		shares[i] = &scorev1.NodeShare{Node: p.Node, Usage: p.usage}
	}
	return shares
}

// notLess keeps counts from falling: a restarted agent has not read all contexts yet. Values of the
// present moment may fall.
func notLess(was, is *scorev1.Messages) *scorev1.Messages {
	merged := mergeMessages(was, is, larger)
	if now := is.GetTransports(); now != nil && was.GetTransports() != nil {
		merged.Transports.RendezvousOpen, merged.Transports.UnexpectedBytes = now.GetRendezvousOpen(), now.GetUnexpectedBytes()
	}
	return merged
}

// larger is max as a function that can be passed.
func larger(x, y uint64) uint64 { return max(x, y) }

// add adds with saturation, since nodes may report any numbers.
func add(x, y uint64) uint64 { return x + min(y, math.MaxUint64-x) }

// meetFences merges two nodes' reports on the fences in which they met; nil: none.
func meetFences(to, f *scorev1.Fences) *scorev1.Fences {
	if f == nil {
		return to
	}
	return &scorev1.Fences{
		Fences:     max(to.GetFences(), f.GetFences()),
		PlainBytes: add(to.GetPlainBytes(), f.GetPlainBytes()), PackedBytes: add(to.GetPackedBytes(), f.GetPackedBytes()),
	}
}
