package leader

import (
	"score/scored/api/agentpb"
	"slices"
	"time"

	"go.uber.org/zap"
)

// The loss of a node is detected by its heartbeat, and by its neighbours on a ring of all nodes.
// Neither is enough: a node stays while the leader receives its heartbeats; otherwise the leader
// waits for the grace time, unless a neighbour reports the same.

const (
	// DefaultNodeSilence is the time without heartbeats after which a node may be lost: agents send
	// two heartbeats per second, and may stall for a second on an overloaded machine.
	DefaultNodeSilence = 3 * time.Second
	// MinNodeSilence is two heartbeats; MaxNodeSilence is for debugging.
	MinNodeSilence = time.Second
	MaxNodeSilence = time.Hour
	// watchersPerNode is the number of neighbours that watch a node: one of them may be lost with
	// it.
	watchersPerNode = 2
)

// silence returns how long a node may be silent.
func (c *controller) silence() time.Duration {
	if silence := time.Duration(c.settings.GetNodeSilenceNanos()); silence > 0 {
		return silence
	}
	return DefaultNodeSilence
}

// checkLinks closes silent streams, and declares nodes lost that their neighbours cannot reach
// either.
func (c *controller) checkLinks() {
	var silent []*node
	for _, n := range c.nodes {
		if n.link != nil && c.silent(n) || n.link == nil && len(n.suspects) > 0 {
			silent = append(silent, n)
		}
	}
	slices.SortFunc(silent, compareNames)
	for _, n := range silent {
		if n.link != nil {
			c.log("node fell silent", zap.String("node", n.name))
			c.closeLink(n.link, "")
			c.onLinkLost(n.name, n.link)
			n.fellSilent = true
		}
		c.checkSilent(n)
	}
}

// silent reports whether a node has been silent too long. The next check would be too late.
func (c *controller) silent(n *node) bool {
	return n.lastMessage <= c.now-(c.silence()-linkCheck).Nanoseconds()
}

// onSuspicion handles a node's report on a node that it watches.
func (c *controller) onSuspicion(from *node, m *agentpb.Suspicion) {
	if !slices.ContainsFunc(from.watches, func(w *agentpb.Watch_Neighbour) bool { return w.GetNode() == m.GetNode() }) {
		return
	}
	n := c.nodes[m.GetNode()]
	switch {
	case n == nil:
		return
	case m.GetFound() <= agentpb.Reachability_REACHABILITY_FINE:
		delete(n.suspects, from.name)
		return
	case n.suspects == nil:
		n.suspects = make(map[string]agentpb.Reachability)
	}
	n.suspects[from.name] = m.GetFound()
	c.checkSilent(n)
}

// checkSilent declares a node lost if it has been silent too long and a neighbour cannot reach it
// either. That its stream ended is not enough: so it does when a cable is plugged in again, or the
// host is too busy. If only the agent has ended, it may be restarting, and be slow to answer.
func (c *controller) checkSilent(n *node) {
	if n.link != nil || !n.inMatrix || !c.silent(n) || c.now-c.began < c.silence().Nanoseconds() {
		return
	}
	for _, found := range n.suspects {
		if found == agentpb.Reachability_REACHABILITY_UNREACHABLE || found == agentpb.Reachability_REACHABILITY_HUNG && n.fellSilent {
			c.log("a silent node does not answer its neighbours either", zap.String("node", n.name))
			n.deadline = 0
			c.onNodeDeadline(n)
			return
		}
	}
}

// sendWatches sends each node the nodes that it watches, if they have changed: the next ones by
// name that are not lost.
func (c *controller) sendWatches() {
	members := make([]*node, 0, len(c.nodes))
	for _, n := range c.sortedNodes() {
		if n.inMatrix {
			members = append(members, n)
		}
	}
	for i, n := range members {
		if n.link == nil {
			continue
		}
		var watches []*agentpb.Watch_Neighbour
		for k := 1; k <= watchersPerNode && k < len(members); k++ {
			next := members[(i+k)%len(members)]
			watches = append(watches, &agentpb.Watch_Neighbour{Node: next.name, Address: next.address})
		}
		if slices.EqualFunc(watches, n.watches, sameNeighbour) {
			continue
		}
		n.watches = watches
		c.send(n.link, &agentpb.ServerMessage{Message: &agentpb.ServerMessage_Watch{Watch: &agentpb.Watch{Neighbours: watches}}})
	}
}

func sameNeighbour(x, y *agentpb.Watch_Neighbour) bool {
	return x.GetNode() == y.GetNode() && x.GetAddress() == y.GetAddress()
}
