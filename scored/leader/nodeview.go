package leader

import (
	"fmt"
	"score/gang"
	"score/scored/api/agentpb"
	"score/scored/api/identity/pki"
	"score/scored/api/scorev1"
	"slices"
)

// nodeViews returns the nodes as users see them.
func (c *controller) nodeViews() []*scorev1.Node {
	jobs := make(map[string][]uint64)
	memory := make(map[string]uint64)
	for _, j := range c.jobs {
		for _, p := range j.parts {
			if j.active() {
				jobs[p.Node] = append(jobs[p.Node], j.id)
				memory[p.Node] += uint64(j.request.MemPerNode)
			}
		}
	}
	certificates := c.members.agentExpiries()
	channels := c.gang.UsedChannels()
	views := make([]*scorev1.Node, 0, len(c.nodes))
	for _, n := range c.sortedNodes() {
		view := n.view(jobs[n.name])
		view.MemoryUsedBytes = memory[n.name]
		view.ChannelsUsed = uint32(channels[gang.NodeID(n.name)])
		if n.link == nil && c.members.cutOff(n.name) {
			view.State = scorev1.NodeState_NODE_STATE_REVOKED
		}
		if expires, ok := certificates[n.name]; ok {
			view.Certificate = pki.Name{Cluster: c.cluster, Role: pki.Agent, Name: n.name}.String()
			view.CertificateExpiresNanos = expires
		}
		views = append(views, view)
	}
	return views
}

func (c *controller) nodeView(n *node) *scorev1.Node {
	views := c.nodeViews()
	return views[slices.IndexFunc(views, func(v *scorev1.Node) bool { return v.GetName() == n.name })]
}

// view returns the node with the jobs that have a place on it.
func (n *node) view(jobs []uint64) *scorev1.Node {
	slices.Sort(jobs)
	view := &scorev1.Node{
		Name: n.name, Address: n.address, Cpus: n.cpus, MemoryBytes: n.memory,
		Up: n.link != nil, Version: n.version, Jobs: uint32(len(jobs)), JobIds: jobs,
		ClockOffsetNanos: n.clock.GetOffsetNanos(), ClockErrorNanos: n.clock.GetErrorNanos(),
		RoundTripNanos: n.clock.GetRoundTripNanos(), WallOffsetNanos: wallOffset(n.clock),
		Notes: slices.Concat(n.notes, n.clock.GetTroubles()), SharesCpus: n.sharesCPUs, Channels: n.channels,
		Link: n.transport, Bearers: n.bearers,
		State: n.state(len(jobs)), SinceNanos: n.since, HeardNanos: n.lastMessage,
	}
	if d := n.drain; d != nil {
		view.DrainReason, view.DrainedBy, view.DrainedNanos, view.DrainRequeue = d.Reason, d.By, d.Since, d.Requeue
		if n.link != nil {
			view.SinceNanos = d.Since
		}
	}
	return view
}

// wallOffset returns by how much the node's system clock is ahead of the cluster's.
func wallOffset(clock *agentpb.Ping) int64 {
	if clock.GetWallNanos() == 0 || clock.GetRoundTripNanos() == 0 {
		return 0
	}
	return clock.GetWallNanos() - clock.GetAgentNanos() - clock.GetOffsetNanos()
}

func (n *node) state(jobs int) scorev1.NodeState {
	switch {
	case n.link == nil && n.inMatrix:
		return scorev1.NodeState_NODE_STATE_SILENT
	case n.link == nil:
		return scorev1.NodeState_NODE_STATE_LOST
	case n.drain != nil && jobs > 0:
		return scorev1.NodeState_NODE_STATE_DRAINING
	case n.drain != nil:
		return scorev1.NodeState_NODE_STATE_DRAINED
	default:
		return scorev1.NodeState_NODE_STATE_UP
	}
}

// closedTo names the nodes that a waiting job could use if they were not drained or away; empty:
// none.
func (c *controller) closedTo(j *job) string {
	var words []string
	excluded := setOf(j.spec.GetExcludeList())
	for _, n := range c.sortedNodes() {
		if list := j.spec.GetNodeList(); len(list) > 0 && !slices.Contains(list, n.name) || excluded[n.name] {
			continue
		}
		switch {
		case n.drain != nil:
			words = append(words, fmt.Sprintf("%s is drained by %s%s", n.name, n.drain.By, because(n.drain)))
		case n.link == nil && c.members.cutOff(n.name):
			words = append(words, "the certificate of "+n.name+" was revoked")
		case n.link == nil && n.inMatrix:
			words = append(words, n.name+" is silent")
		case n.link == nil:
			words = append(words, n.name+" is lost")
		}
	}
	if len(words) == 0 {
		return ""
	}
	return "nodes that take no new jobs: " + gang.List(words)
}
