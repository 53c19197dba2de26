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
		sum.Messages = addMessages(sum.Messages, p.usage.GetMessages())
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
	sum.Messages = addMessages(sum.Messages, earlier.GetMessages())
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

// notLess keeps counts from falling: a restarted agent has not read all contexts yet.
func notLess(was, is *scorev1.Messages) *scorev1.Messages {
	if was == nil {
		return is
	}
	return &scorev1.Messages{
		Contexts: max(was.GetContexts(), is.GetContexts()),
		Sent:     max(was.GetSent(), is.GetSent()), SentBytes: max(was.GetSentBytes(), is.GetSentBytes()),
		Received: max(was.GetReceived(), is.GetReceived()), ReceivedBytes: max(was.GetReceivedBytes(), is.GetReceivedBytes()),
		Full: max(was.GetFull(), is.GetFull()), Nacked: max(was.GetNacked(), is.GetNacked()), Resent: max(was.GetResent(), is.GetResent()),
		CreditRequests: max(was.GetCreditRequests(), is.GetCreditRequests()), CreditsGranted: max(was.GetCreditsGranted(), is.GetCreditsGranted()),
		Transports: transportsNotLess(was.GetTransports(), is.GetTransports()),
	}
}

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

// addMessages adds two nodes' reports; nil: none.
func addMessages(to, m *scorev1.Messages) *scorev1.Messages {
	if m == nil {
		return to
	}
	return &scorev1.Messages{
		Contexts: add(to.GetContexts(), m.GetContexts()),
		Sent:     add(to.GetSent(), m.GetSent()), SentBytes: add(to.GetSentBytes(), m.GetSentBytes()),
		Received: add(to.GetReceived(), m.GetReceived()), ReceivedBytes: add(to.GetReceivedBytes(), m.GetReceivedBytes()),
		Full: add(to.GetFull(), m.GetFull()), Nacked: add(to.GetNacked(), m.GetNacked()), Resent: add(to.GetResent(), m.GetResent()),
		CreditRequests: add(to.GetCreditRequests(), m.GetCreditRequests()), CreditsGranted: add(to.GetCreditsGranted(), m.GetCreditsGranted()),
		Transports: addTransports(to.GetTransports(), m.GetTransports()),
	}
}
