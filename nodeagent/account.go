package nodeagent

import (
	"math"
	"score/channels/node"
	"score/nodeagent/dataplane"
	"score/nodeagent/jobaccount"
	"score/nodeagent/metrics"
	"score/nodeagent/stewardpool"
	"score/nodeagent/switcher"
	"score/scored/api/scorev1"
)

// messages is what the job's ranks here have done with messages, as far as is known after a look at
// so many of their contexts; nil if they never had one.
func (j *job) messages(look int) (m *scorev1.Messages) {
	j.withChannels(func(c *dataplane.Job) { m = c.Messages(look) })
	return m
}

// addLive adds to the usage of a job that is on, or was since the last report, what its ranks here
// have used until now.
func (a *Agent) addLive(usage *scorev1.Usage, job uint64) {
	j := a.jobs.Get(job)
	if j == nil {
		return
	}
	usage.Messages, usage.Fences = j.messages(node.AccountMost), j.account.Fences()
	j.Use(func(_ *dataplane.Job, steward *stewardpool.Steward, _ *switcher.Handle) {
		if cpu, err := steward.CPUTime(); err == nil {
			usage.CpuNanos = max(cpu.Nanoseconds(), 0)
		}
		if pids, err := steward.Container.Pids(nil); err == nil {
			usage.MaxRssBytes = jobaccount.Largest(pids)
		}
	})
}

// lastWord is for the usage at the job's end: a look at all contexts.
const lastWord = math.MaxInt

// countKeys counts what keys in fences were before and after they were packed.
func (a *Agent) countKeys(plain, packed uint64) {
	a.metrics.Add(metrics.CardBytesPlain, plain)
	a.metrics.Add(metrics.CardBytesPacked, packed)
}
