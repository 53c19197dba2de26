package leader

import (
	"fmt"
	"score/gang"
	"score/scored/api/protocol"
	"score/scored/api/scorev1"
	"score/scored/state/statepb"
	"time"

	"go.uber.org/zap"
)

// How a job goes back into the queue whose ranks have run, or may have.

const (
	// requeueLease is how long the ranks of a job that may restart go on
	// when their node hears no leader: as long as the leader waits for a node
	// whose agent is gone, so that a restarted agent finds them.
	requeueLease = NodeGrace
	// leaseMargin is by how much the leader waits longer than the lease before it
	// takes ranks for dead of which nobody can tell: a busy node is late with
	// its timers and with killing, and a leader that was replaced may have
	// answered its heartbeats for a moment more.
	leaseMargin = 3 * time.Second
	// maxRestarts bounds how often a job restarts: one that takes its nodes
	// with it shall not take them all.
	maxRestarts = 8
)

// mayRestart reports whether the job goes back to the queue when a node of it is
// lost or drained. A spawned job ends, and its parent restarts.
func (j *job) mayRestart() bool {
	return j.spec.GetRequeue() && j.parents == 0 && j.restarts < maxRestarts
}

// lease returns how long its ranks go on without a leader; 0: forever.
func (j *job) lease() time.Duration {
	if j.spec.GetRequeue() {
		return requeueLease
	}
	return 0
}

// endToRequeue marks the job to be queued again when its ranks have ended, and returns the verdict
// by which they end.
func (j *job) endToRequeue(reason string) *scorev1.Verdict {
	j.again, j.restarting = reason, true
	return verdict(nodeLost, exitCluster, "%s; the job restarts", reason)
}

// expireLeases marks lost parts done after their lease has passed, and returns when the
// next one has; 0: none. A node that is back is asked instead, and answers.
func (c *controller) expireLeases(j *job) (next int64) {
	for _, p := range j.parts {
		n := c.nodes[p.Node]
		if p.done || !p.lost || n != nil && n.link != nil {
			continue
		}
		at := c.began
		if n != nil {
			at = max(at, n.cutAt)
		}
		at += (requeueLease + leaseMargin).Nanoseconds()
		switch {
		case c.now >= at:
			c.log("a lost node's ranks have ended by their lease", zap.Uint64("job", j.id), zap.String("node", p.Node))
			c.markDone(j, p, nil)
		case next == 0 || at < next:
			next = at
		}
	}
	return next
}

// onNodeDone notes that a node says that nothing of the job is left there. One that
// was lost is heard again, and told what comes next.
func (c *controller) onNodeDone(j *job, p *part, usage *scorev1.Usage) {
	p.lost = p.lost && p.done
	c.markDone(j, p, usage)
}

// blameLoss makes the loss of a part the reason of an end that has begun: ranks fail when others of
// theirs are lost with a node, and their failures are reported first.
func (c *controller) blameLoss(j *job, p *part, reason string) {
	if j.restarting && p.done {
		c.endInsteadOfRequeue(j, reason)
		return
	}
	switch j.verdict.GetReason() {
	case rankFailed, aborted, cluster:
		if j.mayRestart() && j.again == "" {
			c.notifyState(j, c.orderRequeue(j, reason).GetMessage())
		}
	default:
	}
}

// withdraw takes a gang back of which nothing has run, and returns the verdict by which it ends. It
// is queued again when the other nodes have let go of it, so that what they report about this
// attempt is not taken for the next.
func (c *controller) withdraw(j *job, lost *part, reason string) *scorev1.Verdict {
	j.again = reason
	if lost != nil {
		lost.lost = true
	}
	for _, p := range j.parts {
		p.done = p.done || !p.sent || p == lost
	}
	return verdict(nodeLost, exitCluster, "%s", reason)
}

// finishIfDone goes on when no process of the job, nor of those that it spawned
// if it is to restart, is left anywhere.
func (c *controller) finishIfDone(j *job) {
	if j.state == done || j.state == queued || !j.all(func(p *part) bool { return p.done }) {
		return
	}
	switch {
	case j.again != "" && j.hasActiveChild():
		// The last of them calls again.
	case j.again != "" && (j.restarting || j.attempts-j.restarts < maxAttempts):
		c.becomeQueued(j)
	case j.verdict != nil:
		c.becomeDone(j, j.verdict)
	default:
		c.becomeDone(j, j.exitVerdict())
	}
}

// hasActiveChild reports whether a job that this one spawned is not done.
func (j *job) hasActiveChild() bool {
	for _, child := range j.children {
		if child.state != done {
			return true
		}
	}
	return false
}

// becomeQueued puts the job back into the queue.
func (c *controller) becomeQueued(j *job) {
	reason, restart := j.again, j.restarting
	usage := j.usage()
	command := &statepb.Requeue{JobId: j.id, Restart: restart, Usage: usage}
	if c.protocol >= protocol.Orders {
		command.Because = reason
	}
	c.propose(&statepb.Command{Command: &statepb.Command_Requeue{Requeue: command}})
	c.forget(j)
	c.gang.Remove(gang.JobID(j.id))
	c.dropNames(j.id)
	c.placeDirty, c.planDirty = true, true
	j.resetAttempt(usage)
	j.because = reason
	if restart {
		j.restarts++
		c.log("job restarts", zap.Uint64("job", j.id), zap.String("reason", reason), zap.Uint32("restarts", j.restarts))
	}
	j.request.Again = j.restarts > 0
	if err := c.gang.Submit(j.request); err != nil {
		c.becomeDone(j, verdict(nodeLost, exitCluster, "%s, and without it job %d cannot run: %s", reason, j.id, plain(err)))
		return
	}
	c.stageLater(j)
	c.notifyState(j, fmt.Sprintf("%s; job %d waits for other places", reason, j.id))
}

// resetAttempt drops what is of one attempt only; earlier is what it and those
// before it have used.
func (j *job) resetAttempt(earlier *scorev1.Usage) {
	j.earlier = earlier
	j.state, j.deadline, j.killDeadline, j.row, j.founder, j.parts, j.byNode = queued, 0, 0, -1, 0, nil, nil
	j.allocated, j.ready, j.started = 0, 0, 0
	j.verdict, j.decidedAt, j.again, j.restarting = nil, 0, "", false
	j.inherited, j.forgotten, j.outputRead = false, false, false
	j.exits, j.code, j.codeRank, j.codeNode = nil, 0, noRank, ""
	j.spawned, j.names, j.childVerdict, j.childEnds = nil, 0, nil, nil
}
