package leader

import (
	"score/scored/api/scorev1"
	"slices"
	"time"

	"go.uber.org/zap"
)

// How the loss of a node is found: by the heartbeat, and by its neighbours on a
// ring of all nodes. Neither is enough: a leader that still hears the node keeps
// it, and one that does not waits for the grace unless a neighbour finds the same.

const (
	// DefaultNodeSilence is time within which the loss of a node is detected: agents
	// ping twice a second, and stand still for a second on a machine that is
	// overloaded.
	DefaultNodeSilence = 3 * time.Second
	// MinNodeSilence is two heartbeats, MaxNodeSilence what somebody debugs with.
	MinNodeSilence = time.Second
	MaxNodeSilence = time.Hour
	// watchersPerNode is how many neighbours watch a node: one may be lost with it.
	watchersPerNode = 2
)

// silence returns for how long a node may not be heard.
func (c *controller) silence() time.Duration {
	if silence := time.Duration(c.settings.GetNodeSilenceNanos()); silence > 0 {
		return silence
	}
	return DefaultNodeSilence
}

// checkLinks gives up streams that have fallen silent, and nodes that their
// neighbours do not hear either.
func (c *controller) checkLinks() {
	var silent []*node
	limit := c.now - (c.silence() - linkCheck).Nanoseconds() // the next look would be too late
	for _, n := range c.nodes {
		if n.link != nil && n.lastMessage <= limit || n.link == nil && len(n.suspects) > 0 {
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

// onSuspicion takes what a node finds of one that it watches.
func (c *controller) onSuspicion(from *node, m *scorev1.Suspicion) {
	if !slices.ContainsFunc(from.watches, func(w *scorev1.Watch_Neighbour) bool { return w.GetNode() == m.GetNode() }) {
		return
	}
	n := c.nodes[m.GetNode()]
	switch {
	case n == nil:
		return
	case m.GetFound() <= scorev1.Reachability_REACHABILITY_FINE:
		delete(n.suspects, from.name)
		return
	case n.suspects == nil:
		n.suspects = make(map[string]scorev1.Reachability)
	}
	n.suspects[from.name] = m.GetFound()
	c.checkSilent(n)
}

// checkSilent declares a node lost if neither the leader nor a neighbour hears it. An agent
// that has ended while its host is there may be starting again, and may be slow
// to answer then.
func (c *controller) checkSilent(n *node) {
	if n.link != nil || !n.inMatrix || c.now-c.began < c.silence().Nanoseconds() {
		return
	}
	for _, found := range n.suspects {
		if found == scorev1.Reachability_REACHABILITY_UNREACHABLE || found == scorev1.Reachability_REACHABILITY_HUNG && n.fellSilent {
			c.log("its neighbours do not hear a node either", zap.String("node", n.name))
			n.deadline = 0
			c.onNodeDeadline(n)
			return
		}
	}
}

// sendWatches tells each node whom it watches, if that has changed: the next ones by
// name, of those that are not lost.
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
		var watches []*scorev1.Watch_Neighbour
		for k := 1; k <= watchersPerNode && k < len(members); k++ {
			next := members[(i+k)%len(members)]
			watches = append(watches, &scorev1.Watch_Neighbour{Node: next.name, Address: next.address})
		}
		if slices.EqualFunc(watches, n.watches, sameNeighbour) {
			continue
		}
		n.watches = watches
		c.send(n.link, &scorev1.ServerMessage{Message: &scorev1.ServerMessage_Watch{Watch: &scorev1.Watch{Neighbours: watches}}})
	}
}

func sameNeighbour(x, y *scorev1.Watch_Neighbour) bool {
	return x.GetNode() == y.GetNode() && x.GetAddress() == y.GetAddress()
}
