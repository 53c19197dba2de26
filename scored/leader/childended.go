package leader

import (
	"score/scored/api/agentpb"
)

// maxChildEnds is how many ends of spawned jobs are kept for the parent's nodes that are away. If
// more children end while an agent is away, it gets the latest.
const maxChildEnds = 64

// childLeft notifies the ranks of a job's parent that the job left by itself, once that is
// committed.
func (c *controller) childLeft(j *job) {
	parent := j.parent
	parent.recordChildEnd(j)
	c.call(func(err error) {
		if err != nil || parent.state != running && parent.graceUntil == 0 {
			return
		}
		for _, p := range parent.parts {
			if n := c.nodes[p.Node]; n != nil && !p.done {
				c.send(n.link, childEnded(parent, j.id, j.verdict.GetExitCode()))
			}
		}
	})
}

// childEnd is the end of a spawned job that left by itself.
type childEnd struct {
	job  uint64
	code int32
}

// recordChildEnd records that a spawned job has left.
func (j *job) recordChildEnd(child *job) {
	if len(j.childEnds) == maxChildEnds {
		j.childEnds = append(j.childEnds[:0], j.childEnds[1:]...)
	}
	j.childEnds = append(j.childEnds, childEnd{child.id, child.verdict.GetExitCode()})
}

// sendChildEnds sends a node the ends of spawned jobs again.
func (c *controller) sendChildEnds(j *job, n *node) {
	for _, end := range j.childEnds {
		c.send(n.link, childEnded(j, end.job, end.code))
	}
}

func childEnded(j *job, child uint64, code int32) *agentpb.ServerMessage {
	return &agentpb.ServerMessage{Message: &agentpb.ServerMessage_ChildEnded{
		ChildEnded: &agentpb.ChildEnded{JobId: j.id, ChildJob: child, ExitCode: code},
	}}
}
