package leader

import (
	"score/scored/api/scorev1"
	"slices"
)

// From the end of a job until it is forgotten.

// over reports whether the job and all that it spawned are done, and where their output is kept is
// known.
func (j *job) over() bool {
	if j.state != done || j.outputUnknown() {
		return false
	}
	for _, child := range j.children {
		if !child.over() {
			return false
		}
	}
	return true
}

// lastVerdict returns the verdict of the job and all that it spawned, which are one program: its
// own failure, then the failure of a child, then the highest exit code of all ranks.
func (j *job) lastVerdict() *scorev1.Verdict {
	c := j.childVerdict
	if c == nil || j.verdict.GetReason() != exited {
		return j.verdict
	}
	if c.GetReason() == exited && c.GetExitCode() > j.verdict.GetExitCode() || c.GetReason() != exited && j.verdict.GetExitCode() == 0 {
		return c
	}
	return j.verdict
}

// reportToSpawners makes the exit code of a job that ended by itself count for its ancestors too.
func (j *job) reportToSpawners() {
	code := j.verdict.GetExitCode()
	if code == 0 {
		return
	}
	v := verdict(exited, code, "job %d, which the job spawned, left with exit code %d", j.id, code)
	for spawner := j.parent; spawner != nil; spawner = spawner.parent {
		if c := spawner.childVerdict; c == nil || c.GetReason() == exited && code > c.GetExitCode() {
			spawner.childVerdict = v
		}
	}
}

// settleEnd runs once a job is done: it notifies attachments of the end, tells nodes to forget the
// job, and drops it here. It handles ancestors too, since they are over only with their
// descendants.
func (c *controller) settleEnd(j *job) {
	for ; j != nil; j = j.parent {
		c.settleOne(j)
	}
}

// settleTree does the same for all that a job spawned, whose output goes to the job's attachments.
func (c *controller) settleTree(j *job) {
	for _, child := range j.children {
		c.settleTree(child)
	}
	c.settleOne(j)
}

func (c *controller) settleOne(j *job) {
	if j.state != done || c.jobs[j.id] != j {
		return
	}
	over := j.over()
	for _, w := range j.watchers {
		if over && !w.ended {
			w.ended = true
			c.notify(w, endedEvent(j.lastVerdict()))
		}
	}
	if !j.forgotten && j.mayForget() {
		c.forget(j)
	}
	// Children go first: those that linger depend on their ancestors' attachments.
	if j.forgotten && len(j.children) == 0 && len(j.watchers) == 0 {
		c.call(func(err error) {
			if err == nil {
				c.drop(j)
			}
		})
	}
}

// mayForget reports whether no client will read output that the nodes keep. The owner of a job that
// ended at once may still be on its way.
func (j *job) mayForget() bool {
	if j.started == 0 || j.outputRead {
		return true
	}
	return !j.reading() && !j.awaited()
}

// awaited reports whether an owner may still come for the output of the job or of an ancestor.
func (j *job) awaited() bool {
	return j.ownerDeadline != 0 || j.parent != nil && j.parent.awaited()
}

// unread reports whether nodes keep output of the job or its descendants that no client has
// acknowledged.
func (j *job) unread() bool {
	return j.started != 0 && !j.outputRead && !j.forgotten || slices.ContainsFunc(j.children, (*job).unread)
}

// forget tells the nodes that the job's end is committed.
func (c *controller) forget(j *job) {
	j.forgotten = true
	for _, p := range j.parts {
		if n := c.nodes[p.Node]; n != nil && !p.lost {
			c.send(n.link, forgetMessage(j.id))
		}
	}
	c.forgetStaged(j)
}

// read records that all output of an attempt of a job was fetched.
func (c *controller) read(id uint64, attempt uint32) {
	if j := c.jobs[id]; j != nil && j.attempts == attempt {
		j.outputRead = true
		c.settleEnd(j)
	}
}

// drop removes the job here, once its end is committed.
func (c *controller) drop(j *job) {
	if len(j.watchers) > 0 || len(j.children) > 0 || c.jobs[j.id] != j {
		return
	}
	delete(c.jobs, j.id)
	if j.parent == nil {
		return
	}
	for i, child := range j.parent.children {
		if child == j {
			j.parent.children = append(j.parent.children[:i:i], j.parent.children[i+1:]...)
			break
		}
	}
	c.settleEnd(j.parent)
}
