package nodeagent

import (
	"math"

	"score/channels/node"
	"score/nodeagent/dataplane"
	"score/scored/api/scorev1"
)

// messages is what the job's ranks here have done with messages, as far as is known after a look at
// so many of their contexts; nil if they never had one.
func (j *job) messages(look int) (m *scorev1.Messages) {
	j.withChannels(func(c *dataplane.Job) { m = c.Messages(look) })
	return m
}

// addMessages adds to the usage of a job that is on, or was since the last report.
func (a *Agent) addMessages(usage *scorev1.Usage, job uint64) {
	if j := a.jobs.get(job); j != nil {
		usage.Messages, usage.Fences = j.messages(node.AccountMost), j.metFences()
	}
}

// lastWord is for the usage at the job's end: a look at all contexts.
const lastWord = math.MaxInt
