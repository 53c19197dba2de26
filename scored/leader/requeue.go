package leader

import (
	"fmt"
	"time"

	"go.uber.org/zap"

	"score/gang"
	"score/scored/api/protocol"
	"score/scored/api/scorev1"
	"score/scored/state/statepb"
)

// How a job goes back into the queue whose ranks have run, or may have.

const (
	// requeueLease is how long the ranks of a job that may be begun anew go on
	// when their node hears no leader: as long as the leader waits for a node
	// whose agent is gone, so that a restarted agent finds them.
	requeueLease = NodeGrace
	// fenceMargin is by how much the leader waits longer than the lease before it
	// takes ranks for dead of which nobody can tell: a busy node is late with
	// its timers and with killing, and a leader that was replaced may have
	// answered its heartbeats for a moment more.
	fenceMargin = 3 * time.Second
	// maxRestarts bounds how often a job is begun anew: one that takes its nodes
	// with it shall not take them all.
	maxRestarts = 8
)

// mayRestart tells whether the job goes back to the queue when a node of it is
// lost or drained. A spawned job ends, and its parent is begun anew.
func (j *job) mayRestart() bool {
	return j.spec.GetRequeue() && j.parents == 0 && j.restarts < maxRestarts
}

// lease is how long its ranks go on without a leader; 0: for ever.
func (j *job) lease() time.Duration {
	if j.spec.GetRequeue() {
		return requeueLease
	}
	return 0
}

// giveBack ends the job's ranks everywhere, to begin it anew.
func (c *controller) giveBack(j *job, reason string) {
	c.orderRequeue(j, reason)
	c.takeBack(j, reason)
}

// takeBack does what giveBack orders.
func (c *controller) takeBack(j *job, reason string) {
	j.again, j.restarting = reason, true
	c.end(j, verdict(nodeLost, exitCluster, "%s; the job is begun anew", reason))
}

// handedBack takes a job from a drained node that has been running, or may have.
// Without leave to be begun anew it goes on.
func (c *controller) handedBack(j *job, reason string) {
	if j.mayRestart() {
		c.giveBack(j, reason)
	}
}

// fences takes the lost parts for dead whose lease has passed, and tells when the
// next one has; 0: none. A node that is back is asked instead, and answers.
func (c *controller) fences(j *job) (next int64) {
	for _, p := range j.parts {
		n := c.nodes[p.Node]
		if p.done || !p.lost || n != nil && n.link != nil {
			continue
		}
		at := c.began
		if n != nil {
			at = max(at, n.cutAt)
		}
		at += (requeueLease + fenceMargin).Nanoseconds()
		switch {
		case c.now >= at:
			c.log("a lost node's ranks have ended by their lease", zap.Uint64("job", j.id), zap.String("node", p.Node))
			c.nodeDone(j, p, nil)
		case next == 0 || at < next:
			next = at
		}
	}
	return next
}

// heardDone notes that a node says that nothing of the job is left there. One that
// was lost is heard again, and told what comes next.
func (c *controller) heardDone(j *job, p *part, usage *scorev1.Usage) {
	p.lost = p.lost && p.done
	c.nodeDone(j, p, usage)
}

// blamed makes a loss the reason why a job ends that was ending already: ranks
// fail when others of theirs have gone with a node, and are heard first.
func (c *controller) blamed(j *job, reason string) {
	switch j.verdict.GetReason() {
	case rankFailed, aborted, cluster:
		if j.mayRestart() && j.again == "" {
			j.again, j.restarting = reason, true
			c.orderRequeue(j, reason)
			c.tellState(j, reason+"; the job is begun anew")
		}
	default:
	}
}

// withdraw takes a gang back of which nothing has run. It goes into the queue
// again when the other nodes have let go of it, so that what they say about this
// attempt is not taken for the next.
func (c *controller) withdraw(j *job, lost *part, reason string) {
	j.again = reason
	if lost != nil {
		lost.lost = true
	}
	for _, p := range j.parts {
		p.done = p.done || !p.sent || p == lost
	}
	c.end(j, verdict(nodeLost, exitCluster, "%s", reason))
	c.settleParts(j)
}

// settleParts goes on when no process of the job, nor of those that it spawned
// if it is to be begun anew, is left anywhere.
func (c *controller) settleParts(j *job) {
	if j.state == done || j.state == queued || !j.all(func(p *part) bool { return p.done }) {
		return
	}
	switch {
	case j.again != "" && j.spawns():
		// The last of them calls again.
	case j.again != "" && (j.restarting || j.attempts-j.restarts < maxAttempts):
		c.requeue(j)
	case j.verdict != nil:
		c.conclude(j, j.verdict)
	default:
		c.conclude(j, j.exitVerdict())
	}
}

// spawns tells whether a job that this one spawned is not done.
func (j *job) spawns() bool {
	for _, child := range j.children {
		if child.state != done {
			return true
		}
	}
	return false
}

// requeue lets the job wait for other places.
func (c *controller) requeue(j *job) {
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
	j.beginAnew(usage)
	j.because = reason
	if restart {
		j.restarts++
		c.log("job is begun anew", zap.Uint64("job", j.id), zap.String("reason", reason), zap.Uint32("restarts", j.restarts))
	}
	j.request.Again = j.restarts > 0
	if err := c.gang.Submit(j.request); err != nil {
		c.conclude(j, verdict(nodeLost, exitCluster, "%s, and without it job %d cannot run: %s", reason, j.id, plain(err)))
		return
	}
	c.stageLater(j)
	c.tellState(j, fmt.Sprintf("%s; job %d waits for other places", reason, j.id))
}

// beginAnew drops what is of one attempt only; earlier is what it and those
// before it have used.
func (j *job) beginAnew(earlier *scorev1.Usage) {
	j.earlier = earlier
	j.state, j.deadline, j.killDeadline, j.row, j.founder, j.parts, j.byNode = queued, 0, 0, -1, 0, nil, nil
	j.allocated, j.ready, j.started = 0, 0, 0
	j.verdict, j.decidedAt, j.again, j.restarting = nil, 0, "", false
	j.inherited, j.forgotten, j.outputRead = false, false, false
	j.exits, j.code, j.codeRank, j.codeNode = nil, 0, noRank, ""
	j.spawned, j.names, j.childVerdict, j.childEnds = nil, 0, nil, nil
}
