package leader

import (
	"fmt"
	"score/scored/state"
	"slices"
	"time"
)

// What a new leader does for jobs that ended under an earlier one: their output may not have been
// read, and only the nodes know.

// keptAfterEnd is how long nodes keep the end and the output of a job that they were not told to
// forget (forgetWait in nodeagent/steward/life).
const keptAfterEnd = 10 * time.Minute

// restoreEnded lets a finished job linger if a node may still keep output of it. The age of the
// job's end is taken at the log's last entry, since this leader's clock may be ahead of it by any
// time.
func (c *controller) restoreEnded(record *state.Job, lastEntry int64) {
	if record.Phase != state.Done || record.Started == 0 || lastEntry-record.Ended > keptAfterEnd.Nanoseconds() {
		return
	}
	j := &job{
		id:        record.ID,
		spec:      record.Spec,
		listed:    listedSpec(record.Spec),
		user:      record.User,
		parents:   record.Parent,
		charged:   record.Usage,
		attempt:   newAttempt(),
		submitted: record.Submitted,
		ended:     record.Ended,
		attempts:  record.Attempts,
		restarts:  record.Restarts,
		because:   record.Because,
	}
	j.state, j.started, j.verdict = done, record.Started, record.Verdict
	c.jobs[j.id] = j
	for _, p := range record.Places {
		known := c.nodes[p.Node] != nil
		j.parts = append(j.parts, &part{Place: p, done: true, launched: true, outputUnknown: known, lost: !known})
		if !known {
			c.noteMissingOutput(j, p.Node, "the node was lost")
		}
	}
	c.awaitOwner(j)
}

// linkChildren links jobs to the parents that spawned them, whichever was restored first.
func (c *controller) linkChildren() {
	for _, j := range c.sortedJobs() {
		if parent := c.jobs[j.parents]; j.parent == nil && parent != nil {
			j.parent = parent
			parent.children = append(parent.children, j)
		}
	}
	for _, j := range c.sortedJobs() {
		if j.state == done && j.verdict.GetReason() == exited {
			j.reportToSpawners()
			if j.parent != nil {
				j.parent.recordChildEnd(j)
			}
		}
	}
}

// outputUnknown reports whether a node has yet to say if it keeps output of the job.
func (j *job) outputUnknown() bool {
	return slices.ContainsFunc(j.parts, func(p *part) bool { return p.outputUnknown })
}

// onHeldJobs finds out from a node's list of jobs whether it keeps unread output of ended jobs.
func (c *controller) onHeldJobs(node string, held []uint64) {
	for _, j := range c.sortedJobs() {
		p := j.part(node)
		if p == nil || !p.outputUnknown {
			continue
		}
		p.lost = !slices.Contains(held, j.id)
		if p.lost && j.needsOwner() {
			c.noteMissingOutput(j, node, "the node has lost it")
		}
		c.outputKnown(j, p)
	}
}

// lostEnded gives up the output of ended jobs on a lost node.
func (c *controller) lostEnded(node string) {
	for _, j := range c.sortedJobs() {
		if p := j.part(node); p != nil && p.outputUnknown {
			p.lost = true
			c.noteMissingOutput(j, node, "the node was lost")
			c.outputKnown(j, p)
		}
	}
}

// noteMissingOutput records that a node no longer keeps output of an ended job. A client that has
// all of it does not attach again. The nodes of a spawned job forget earlier, as soon as its
// parent's client has all its output, so nothing may be lost.
func (c *controller) noteMissingOutput(j *job, node, because string) {
	c.warn(j, fmt.Sprintf("output from node %s may be missing: %s", node, because))
	if !j.needsOwner() {
		return
	}
	j.outputLost = true
	for _, w := range j.watchers {
		c.notifyMissing(w)
	}
}

// outputKnown goes on with the end of a job when it is known whether p's node keeps its output.
func (c *controller) outputKnown(j *job, p *part) {
	p.outputUnknown = false
	if j.outputUnknown() {
		return
	}
	if j.all(func(p *part) bool { return p.lost }) {
		j.outputRead = true
	} else {
		c.notifySources(j)
	}
	c.settleEnd(j)
}
