package leader

import (
	"cmp"
	"maps"
	"score/gang"
	"score/scored/api/scorev1"
	"score/scored/api/texts"
	"score/scored/state"
	"score/scored/state/statepb"
	"slices"
	"unicode/utf8"
)

const (
	// maxText bounds what an agent says about itself.
	maxText = 256
	// maxNotesOfNode bounds how much of it there may be.
	maxNotesOfNode = 32
)

// node is the controller's picture of a node.
type node struct {
	name            string
	address         string
	cpus            uint32
	memory          uint64
	version         string
	bootID          string
	notes           []string
	sharesCPUs      bool
	fencesByMessage bool   // its stewards exchange by themselves what is small
	channels        uint32 // that jobs of one row may have

	link        Link  // nil while there is no stream
	lastMessage int64 // when it last sent anything; 0: nothing to this leader
	since       int64 // when it came, or its stream was lost
	cutAt       int64 // when its last stream was lost; 0: none was, to this leader
	inMatrix    bool  // known to the gang machine
	planned     bool  // its last plan held a job
	// fellSilent: its stream was given up, rather than ended by its agent's host.
	fellSilent bool
	suspects   map[string]scorev1.Reachability // what the nodes that watch it have found amiss
	watches    []*scorev1.Watch_Neighbour      // what it was told to watch
	deadline   int64                           // NodeGrace, then nodeMemory, after the stream was lost

	drain *state.Drain  // nil: it may have new jobs
	clock *scorev1.Ping // what it last told about its clock and its troubles, or nil
}

// addressOf returns where the node's agent listens; of no node it is "".
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

func compareNames(x, y *node) int { return cmp.Compare(x.name, y.name) }

func (c *controller) sortedJobs() []*job {
	return slices.SortedFunc(maps.Values(c.jobs), func(x, y *job) int { return cmp.Compare(x.id, y.id) })
}

// clip shortens a text to what is kept, with escapes for what is not UTF-8. No letter is cut in
// two.
func clip(text string) string {
	if len(text) <= maxText {
		return texts.UTF8(text)
	}
	end := maxText
	for end > maxText-utf8.UTFMax && !utf8.RuneStart(text[end]) {
		end--
	}
	return texts.UTF8(text[:end]) + "..."
}

func (n *node) update(h *scorev1.Hello) {
	n.address, n.version, n.bootID = h.GetAddress(), h.GetVersion(), h.GetBootId()
	n.cpus, n.memory, n.sharesCPUs, n.channels = h.GetCpus(), h.GetMemoryBytes(), h.GetSharesCpus(), h.GetChannels()
	n.fencesByMessage = h.GetFencesByMessage()
	n.notes = clippedNotes(h.GetNotes())
}

// clippedNotes is what is kept of what an agent says about itself.
func clippedNotes(notes []string) (kept []string) {
	for _, note := range notes[:min(len(notes), maxNotesOfNode)] {
		kept = append(kept, clip(note))
	}
	return kept
}

// heartbeat takes what a node says of itself several times a second.
func (n *node) heartbeat(ping *scorev1.Ping) {
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
