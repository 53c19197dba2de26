package leader

import (
	"score/gang"
	"score/scored/state/statepb"
	"time"

	"go.uber.org/zap"
)

const (
	// NodeGrace is how long a node may at least be without a stream before its jobs are given up. A
	// restarted agent is back within seconds, and its stewards keep the ranks meanwhile.
	NodeGrace = 10 * time.Second
	// nodeMemory is how long a lost node is listed as down.
	nodeMemory = time.Hour
)

// onLinkLost handles the end of an agent's stream.
func (c *controller) onLinkLost(name string, link Link) {
	n := c.nodes[name]
	if n == nil || n.link != link {
		return // replaced by a newer stream
	}
	n.link, n.since, n.cutAt = nil, c.now, c.now
	c.updateDrain(n)
	c.setNodeDeadline(n, c.nodeGrace())
	c.onCutLost(n)
	c.log("node disconnected", zap.String("node", n.name))
}

// nodeGrace returns how long a node may be without a stream: no shorter than it may be silent,
// since a new leader has no stream of a node that was silent before.
func (c *controller) nodeGrace() time.Duration { return max(NodeGrace, c.silence()) }

func (c *controller) setNodeDeadline(n *node, d time.Duration) {
	n.deadline = c.now + d.Nanoseconds()
	c.timers.add(timer{at: n.deadline, kind: timerNode, node: n.name})
}

// onNodeDeadline gives up the jobs of a node that did not come back, and much later the node.
func (c *controller) onNodeDeadline(n *node) {
	if n.inMatrix {
		c.log("node lost", zap.String("node", n.name))
		n.since = c.now
		c.loseNode(n, lostReason(n.name))
		c.setNodeDeadline(n, nodeMemory)
		return
	}
	if n.drain != nil {
		return // it stays drained until an administrator resumes it
	}
	for _, j := range c.jobs {
		if j.active() && j.part(n.name) != nil {
			c.setNodeDeadline(n, nodeMemory)
			return
		}
	}
	delete(c.nodes, n.name)
	c.propose(&statepb.Command{Command: &statepb.Command_NodeGone{NodeGone: &statepb.NodeGone{Node: n.name}}})
}

// loseNode removes the node from the matrix and ends its jobs, whole gangs.
func (c *controller) loseNode(n *node, reason string) {
	if _, err := c.gang.RemoveNode(gang.NodeID(n.name)); err != nil {
		c.log("a node could not be removed: "+err.Error(), zap.String("node", n.name))
	}
	n.inMatrix = false
	c.placeDirty, c.planDirty, c.watchesDirty = true, true, true
	c.lostEnded(n.name)
	for _, j := range c.sortedJobs() {
		if p := j.part(n.name); p != nil && j.active() && !p.done {
			c.step(j, evPartLost{p, reason})
		}
	}
}
