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

// How a job is requeued after its ranks have run, or may have.

const (
	// requeueLease is how long the ranks of a restartable job go on while their node has no leader:
	// as long as the leader waits for a node without an agent, so that a restarted agent finds
	// them.
	requeueLease = NodeGrace
	// leaseMargin is how much longer than the lease the leader waits before it takes unreachable
	// ranks for dead: a busy node is late with its timers and with killing, and a leader that was
	// replaced may have answered the node's heartbeats a moment longer.
	leaseMargin = 3 * time.Second
	// maxRestarts bounds the restarts of a job: a job that crashes its nodes must not crash all of
	// them.
	maxRestarts = 8
)

// mayRestart reports whether the job is requeued when one of its nodes is lost or drained. A
// spawned job ends instead, and its parent restarts.
func (j *job) mayRestart() bool {
	return j.spec.GetRequeue() && j.parents == 0 && j.restarts < maxRestarts
}

// lease returns how long the job's ranks go on without a leader; 0: forever.
func (j *job) lease() time.Duration {
	if j.spec.GetRequeue() {
		return requeueLease
	}
	return 0
}

// endToRequeue marks the job to be queued again when its ranks have ended, and returns the verdict
// with which they end.
func (j *job) endToRequeue(reason string) *scorev1.Verdict {
	j.again, j.restarting = reason, true
	return verdict(nodeLost, exitCluster, "%s; the job restarts", reason)
}

// expireLeases marks lost parts as done after their lease has expired, and returns when the next
// one expires; 0: none. A node that is back is asked instead.
func (c *controller) expireLeases(j *job) (next int64) {
	for _, p := range j.parts {
		n := c.nodes[p.Node]
		if p.done || !p.lost || n.connected() {
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

// onNodeDone handles a node's report that nothing of the job is left there. A lost node that is
// back gets the next order.
func (c *controller) onNodeDone(j *job, p *part, usage *scorev1.Usage) {
	p.lost = p.lost && p.done
	c.markDone(j, p, usage)
}

// blameLoss makes the loss of a part the reason of an end that has begun: ranks fail because others
// were lost with a node, and their failures are reported first.
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

// withdraw withdraws a gang before any of its ranks has run, and returns the verdict with which it
// ends. The job is queued again when the other nodes have released it, so that their reports on
// this attempt are not taken for the next. The log says so first: a new leader would take what a
// node has released for a part whose ranks have run and exited.
func (c *controller) withdraw(j *job, lost *part, reason string) *scorev1.Verdict {
	c.logRequeue(j, reason)
	j.again = reason
	if lost != nil {
		lost.lost = true
	}
	for _, p := range j.parts {
		p.done = p.done || !p.sent || p == lost
	}
	return verdict(nodeLost, exitCluster, "%s", reason)
}

// finishIfDone continues when no process of the job is left and, if the job is to restart, none of
// those that it spawned.
func (c *controller) finishIfDone(j *job) {
	if j.state == done || j.state == queued || !j.all(func(p *part) bool { return p.done }) {
		return
	}
	switch {
	case j.again != "" && j.hasActiveChild():
		// The last child calls again.
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
	c.names.Drop(j.id)
	c.placeDirty, c.planDirty = true, true
	j.attempt, j.earlier = newAttempt(), usage
	j.because = reason
	if restart {
		j.restarts++
		c.log("job restarts", zap.Uint64("job", j.id), zap.String("reason", reason), zap.Uint32("restarts", j.restarts))
	}
	j.request.Again = j.restarts > 0 || j.spec.GetRequeue()
	if err := c.gang.Submit(j.request); err != nil {
		c.becomeDone(j, verdict(nodeLost, exitCluster, "%s, and without it job %d cannot run: %s", reason, j.id, plain(err)))
		return
	}
	c.stageLater(j)
	c.notifyState(j, fmt.Sprintf("%s; job %d waits for other places", reason, j.id))
}
