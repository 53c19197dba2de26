package leader

import (
	"cmp"
	"maps"
	"score/gang"
	"score/scored/api/agentpb"
	"score/scored/state"
	"score/scored/state/statepb"
	"slices"
)

// node is a node as the controller knows it.
type node struct {
	name            string
	address         string
	cpus            uint32
	memory          uint64
	version         string
	bootID          string
	notes           []string
	sharesCPUs      bool
	fencesByMessage bool   // its stewards exchange small fence data directly
	channels        uint32 // number that the jobs of one row may have together
	transport       string // what carries channels to other nodes; not in the log: an agent says it when it connects
	bearers         []string

	link        Link  // nil: there is no stream
	lastMessage int64 // when its last message came; 0: none came to this leader
	since       int64 // when it connected, or its stream was lost
	cutAt       int64 // when its last stream was lost; 0: never, under this leader
	inMatrix    bool  // known to the gang machine
	planned     bool  // its last plan held a job
	// fellSilent: the leader gave its stream up because it was silent.
	fellSilent bool
	suspects   map[string]agentpb.Reachability // what the nodes that watch it have reported
	watches    []*agentpb.Watch_Neighbour      // what it was told to watch
	deadline   int64                           // NodeGrace, then nodeMemory, after the stream was lost

	drain *state.Drain  // nil: it takes new jobs
	clock *agentpb.Ping // its last report on its clock and its problems, or nil
}

// addressOf returns the address of the node's agent, "" if there is no node.
func (n *node) addressOf() string {
	if n == nil {
		return ""
	}
	return n.address
}

func (n *node) column() gang.Node {
	return gang.Node{ID: gang.NodeID(n.name), CPUs: int(n.cpus), Memory: int64(min(n.memory, gang.MaxMemory)), Channels: int(n.channels)}
}

func (c *controller) sortedNodes() []*node {
	return slices.SortedFunc(maps.Values(c.nodes), compareNames)
}

// connected reports whether the node's agent is; that of a node that nobody knows (nil) is not.
func (n *node) connected() bool { return n != nil && n.link != nil }

// nodesUp returns how many nodes are connected.
func (c *controller) nodesUp() (up int) {
	for _, n := range c.nodes {
		if n.connected() {
			up++
		}
	}
	return up
}

// setOf returns a list of names as a set: a job may list thousands.
func setOf(names []string) map[string]bool {
	set := make(map[string]bool, len(names))
	for _, name := range names {
		set[name] = true
	}
	return set
}

func compareNames(x, y *node) int { return cmp.Compare(x.name, y.name) }

func (n *node) update(h *agentpb.Hello) {
	n.address, n.version, n.bootID = h.GetAddress(), h.GetVersion(), h.GetBootId()
	n.cpus, n.memory, n.sharesCPUs, n.channels = h.GetCpus(), h.GetMemoryBytes(), h.GetSharesCpus(), h.GetChannels()
	n.fencesByMessage = h.GetFencesByMessage()
	n.transport, n.bearers = cmp.Or(clip(h.GetLink()), "udp"), clippedNotes(h.GetBearers())
	n.notes = clippedNotes(h.GetNotes())
}

// heartbeat handles a node's heartbeat.
func (n *node) heartbeat(ping *agentpb.Ping) {
	n.clock = ping
	ping.Troubles = clippedNotes(ping.GetTroubles())
}

// sameAs reports whether the log already knows all this.
func (n *node) sameAs(other *node) bool {
	return n.address == other.address && n.version == other.version && n.bootID == other.bootID &&
		n.cpus == other.cpus && n.memory == other.memory && n.sharesCPUs == other.sharesCPUs &&
		n.channels == other.channels && n.fencesByMessage == other.fencesByMessage && slices.Equal(n.notes, other.notes)
}

func (n *node) record() *statepb.Node {
	return &statepb.Node{
		Name: n.name, Address: n.address, Cpus: n.cpus, MemoryBytes: n.memory, Version: n.version,
		BootId: n.bootID, Notes: n.notes, SharesCpus: n.sharesCPUs, Channels: n.channels,
		FencesByMessage: n.fencesByMessage,
	}
}
