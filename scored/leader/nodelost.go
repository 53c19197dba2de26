package leader

import (
	"time"

	"go.uber.org/zap"

	"score/gang"
	"score/scored/state/statepb"
)

const (
	// NodeGrace is how long a node may be without a stream before its jobs are
	// given up. An agent that is restarted is back within seconds, and its
	// stewards keep the ranks meanwhile.
	NodeGrace = 10 * time.Second
	// nodeMemory is how long a node that is gone is still listed as down.
	nodeMemory = time.Hour
)

// linkLost notes that an agent's stream has ended.
func (b *controller) linkLost(name string, link Link) {
	n := b.nodes[name]
	if n == nil || n.link != link {
		return // a newer stream has taken its place
	}
	n.link, n.since, n.cutAt = nil, b.now, b.now
	b.open(n)
	b.setNodeDeadline(n, NodeGrace)
	b.cutLost(n)
	b.log("node disconnected", zap.String("node", n.name))
}

func (b *controller) setNodeDeadline(n *node, d time.Duration) {
	n.deadline = b.now + d.Nanoseconds()
	b.timers.add(timer{at: n.deadline, kind: timerNode, node: n.name})
}

// nodeLate gives up the jobs of a node that did not come back, and much later
// the node itself.
func (b *controller) nodeLate(n *node) {
	if n.inMatrix {
		b.log("node lost", zap.String("node", n.name))
		n.since = b.now
		b.loseNode(n, lostReason(n.name))
		b.setNodeDeadline(n, nodeMemory)
		return
	}
	if n.drain != nil {
		return // it stays drained until an administrator says otherwise
	}
	for _, j := range b.jobs {
		if j.active() && j.part(n.name) != nil {
			b.setNodeDeadline(n, nodeMemory)
			return
		}
	}
	delete(b.nodes, n.name)
	b.propose(&statepb.Command{Command: &statepb.Command_NodeGone{NodeGone: &statepb.NodeGone{Node: n.name}}})
}

// loseNode takes the node out of the matrix and ends its jobs, whole gangs.
func (b *controller) loseNode(n *node, reason string) {
	if _, err := b.gang.RemoveNode(gang.NodeID(n.name)); err != nil {
		b.log("a node could not be removed: "+err.Error(), zap.String("node", n.name))
	}
	n.inMatrix = false
	b.placeDirty, b.planDirty, b.ringDirty = true, true, true
	b.lostEnded(n.name)
	for _, j := range b.sortedJobs() {
		if p := j.part(n.name); p != nil && j.active() && !p.done {
			b.step(j, evPartLost{p, reason})
		}
	}
}
