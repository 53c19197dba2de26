package leader

import (
	"fmt"
	"score/scored/api/agentpb"
	"score/scored/api/plural"
	"score/scored/api/scorev1"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"
)

// What happens if a node is lost or does not answer.

// lose records that the part's node is lost. Ranks with a lease may live on there until it expires.
func (p *part) lose(j *job) { p.lost, p.done = true, !j.spec.GetRequeue() }

// lossVerdict logs and returns what the loss of a part means for the job: its end, or a restart.
func (c *controller) lossVerdict(j *job, reason string) *scorev1.Verdict {
	if j.mayRestart() {
		return c.orderRequeue(j, reason)
	}
	v := verdict(nodeLost, exitCluster, "job %d was ended: %s; %s", j.id, reason, j.lossHint())
	c.orderEnd(j, v)
	return v
}

// onPartLost handles the loss of a part on a node that is there, for instance with its steward. The
// node ends what is left and says so; a start waits for that too, since the node may get the same
// job again.
func (c *controller) onPartLost(j *job, p *part, reason string) {
	if j.state == starting && !j.inherited {
		c.step(j, evDrain{reason})
		return
	}
	c.step(j, evPartLost{p, reason})
}

// awaitPart waits for the end of a lost part.
func (c *controller) awaitPart(j *job, p *part) {
	if p.done {
		c.markDone(j, p, nil)
		return
	}
	c.awaitEnd(j)
}

// continueWithout lets a job go on without a node, whose ranks count as killed.
func (c *controller) continueWithout(j *job, p *part, reason string) {
	p.done = true
	for _, rank := range p.Ranks {
		if j.exits[rank] {
			continue
		}
		if j.exits == nil {
			j.exits = make(map[uint32]bool)
		}
		j.exits[rank] = true
		j.countCode(p, int32(rank), exitKilled)
	}
	c.warn(j, fmt.Sprintf("%s; job %d goes on without its ranks there", reason, j.id))
	for _, other := range j.parts {
		if n := c.nodes[other.Node]; n != nil && !other.done {
			c.sendPartsGone(j, n)
		}
	}
	c.markDone(j, p, nil)
}

// sendPartsGone tells a node which of the job's other nodes are lost while the job goes on.
func (c *controller) sendPartsGone(j *job, n *node) {
	for index, p := range j.parts {
		if p.lost && p.done && p.Node != n.name {
			c.send(n.link, &agentpb.ServerMessage{Message: &agentpb.ServerMessage_PartGone{PartGone: &agentpb.PartGone{
				JobId: j.id, NodeIndex: uint32(index), Reason: lostReason(p.Node),
			}}})
		}
	}
}

// lossHint returns what a user can do about the loss of a node.
func (j *job) lossHint() string {
	if j.spec.GetRequeue() && j.parents == 0 {
		return "it has restarted " + plural.Of(j.restarts, "time", "times") + ", which is the limit"
	}
	return "submit it again; with --requeue it restarts by itself"
}

func lostReason(node string) string { return "node " + node + " was lost" }

// awaitEnd sets the time of the next check of a job that is being ended.
func (c *controller) awaitEnd(j *job) {
	wait := killAgain
	if j.graceUntil != 0 {
		wait = min(wait, time.Duration(j.graceUntil-c.now))
	}
	if next := c.expireLeases(j); next != 0 {
		wait = min(wait, time.Duration(next-c.now))
	}
	if j.state == ending {
		c.setDeadline(j, wait)
	}
}

// onEndDeadline repeats the order to kill, and gives up after endTimeout.
func (c *controller) onEndDeadline(j *job) {
	if c.now < j.graceUntil {
		c.awaitEnd(j)
		return
	}
	if j.graceUntil != 0 {
		c.endGrace(j)
		return
	}
	if c.now < j.killDeadline {
		c.kill(j, j.verdict.GetMessage())
		c.awaitEnd(j)
		return
	}
	late := j.namesOf(func(p *part) bool { return !p.done })
	c.log("a job's end was not reported", zap.Uint64("job", j.id), zap.Strings("nodes", late))
	j.verdict.Message = fmt.Sprintf("%s (%s did not report its end within %v; see the agent's log there)",
		j.verdict.GetMessage(), strings.Join(late, ", "), endTimeout)
	j.again = "" // what may still run must not run twice
	c.becomeDone(j, j.verdict)
}

// onPrepareDeadline gives up a start. The job is blamed only if the node is connected.
func (c *controller) onPrepareDeadline(j *job) {
	late := j.namesOf(func(p *part) bool { return !p.prepared })
	for _, name := range late {
		if !c.nodes[name].connected() {
			c.step(j, evPartLost{j.part(name), lostReason(name)})
			return
		}
	}
	hint := "see the agent's log there"
	if n := len(j.notes); n > 0 {
		hint = j.notes[n-1]
	}
	c.step(j, evStop{verdict(cluster, exitCluster, "%s did not prepare the job within %v; %s",
		strings.Join(late, ", "), prepareTimeout+stageTime(j.spec), hint)})
}

// onLaunchDeadline ends a job that a connected node has not started: the order may be lost, or its
// steward hangs. Of a node that is not connected, the node's own deadline decides.
func (c *controller) onLaunchDeadline(j *job) {
	late := j.namesOf(func(p *part) bool { return !p.launched && !p.done && !p.lost })
	if len(late) == 0 {
		return
	}
	limit := launchTimeout + launchRounds*time.Duration(c.rotation.Period())
	if left := time.Duration(max(j.ready, c.began)-c.now) + limit; left > 0 {
		c.setDeadline(j, left)
		return
	}
	if slices.ContainsFunc(late, func(name string) bool { return !c.nodes[name].connected() }) {
		c.setDeadline(j, launchTimeout)
		return
	}
	c.step(j, evStop{verdict(cluster, exitCluster, "%s did not start the job's ranks within %v; see the agent's log there",
		strings.Join(late, ", "), limit.Round(time.Second))})
}
