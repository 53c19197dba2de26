package leader

import (
	"fmt"
	"strings"

	"go.uber.org/zap"

	"score/gang"
	"score/scored/state/statepb"
)

// What is done when a node or an answer does not come.

// losePart ends the whole gang because its part on one node is gone.
func (b *brain) losePart(j *job, p *part, reason string) {
	p.done, p.lost = true, true
	if j.state != ending {
		b.end(j, verdict(nodeLost, exitCluster, "job %d was ended: %s; submit it again", j.id, reason))
	}
	b.nodeDone(j, p, nil)
}

func lostReason(node string) string { return "node " + node + " was lost" }

// endLate repeats the order to kill, and after endTimeout no longer waits.
func (b *brain) endLate(j *job) {
	if b.now < j.killDeadline {
		b.kill(j, j.verdict.GetMessage())
		b.setDeadline(j, killAgain)
		return
	}
	late := j.namesOf(func(p *part) bool { return !p.done })
	b.log("a job's end was not reported", zap.Uint64("job", j.id), zap.Strings("nodes", late))
	j.verdict.Message = fmt.Sprintf("%s (%s did not report its end within %v; look at the agent's log there)",
		j.verdict.GetMessage(), strings.Join(late, ", "), endTimeout)
	b.conclude(j, j.verdict)
}

// prepareLate gives up a start: a node that is gone gets no blame on the job,
// one that is there does.
func (b *brain) prepareLate(j *job) {
	late := j.namesOf(func(p *part) bool { return !p.prepared })
	for _, name := range late {
		if n := b.nodes[name]; n == nil || n.link == nil {
			b.step(j, evPartLost{j.part(name), lostReason(name)})
			return
		}
	}
	b.step(j, evStop{verdict(cluster, exitCluster, "%s did not get the job ready within %v; look at the agent's log there",
		strings.Join(late, ", "), prepareTimeout+stageTime(j.spec))})
}

// withdraw takes a gang back of which nothing has run, because a node was lost.
// It goes into the queue again when the other nodes have let go of it, so that
// what they say about this attempt is not taken for the next.
func (b *brain) withdraw(j *job, lost *part, reason string) {
	j.again = reason
	lost.lost = true
	for _, p := range j.parts {
		p.done = p.done || !p.sent || p == lost
	}
	b.end(j, verdict(nodeLost, exitCluster, "%s", reason))
	b.nodeDone(j, lost, nil)
}

// requeue lets the job wait for other places.
func (b *brain) requeue(j *job) {
	reason := j.again
	b.propose(&statepb.Command{Command: &statepb.Command_Requeue{Requeue: &statepb.Requeue{JobId: j.id}}})
	b.forget(j)
	b.gang.Remove(gang.JobID(j.id))
	b.placeDirty, b.planDirty = true, true
	j.state, j.deadline, j.row, j.founder, j.parts, j.byNode = queued, 0, -1, 0, nil, nil
	j.verdict, j.again, j.forgotten = nil, "", false
	if err := b.gang.Submit(j.request); err != nil {
		b.conclude(j, verdict(nodeLost, exitCluster, "%s, and without it job %d cannot run: %s", reason, j.id, plain(err)))
		return
	}
	b.stageLater(j)
	b.tellState(j, fmt.Sprintf("%s; job %d waits for other places", reason, j.id))
}
