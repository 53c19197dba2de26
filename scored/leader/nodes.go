package leader

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"

	"score/gang"
	"score/scored/api/protocol"
	"score/scored/api/scorev1"
	"score/scored/state"
	"score/scored/state/statepb"
)

const (
	// NodeGrace is how long a node may be without a stream before its jobs are
	// given up. An agent that is restarted is back within seconds, and its
	// stewards keep the ranks meanwhile.
	NodeGrace = 10 * time.Second
	// nodeMemory is how long a node that is gone is still listed as down.
	nodeMemory = time.Hour
	// maxText bounds what an agent says about itself.
	maxText = 256
	// maxNotesOfNode bounds how much of it there may be.
	maxNotesOfNode = 32
)

// nodePattern is what may stand in a directory name and in a host name.
var nodePattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,62}$`)

// node is the brain's picture of a node.
type node struct {
	name       string
	address    string
	cpus       uint32
	memory     uint64
	version    string
	bootID     string
	notes      []string
	sharesCPUs bool
	byLetter   bool   // its stewards exchange by themselves what is small
	channels   uint32 // that jobs of one row may have

	link     Link  // nil while there is no stream
	heard    int64 // when it last sent anything; 0: nothing to this leader
	since    int64 // when it came, or its stream was lost
	cutAt    int64 // when its last stream was lost; 0: none was, to this leader
	inMatrix bool  // known to the gang machine
	planned  bool  // its last plan held a job
	// fellSilent: its stream was given up, rather than ended by its agent's host.
	fellSilent bool
	suspects   map[string]scorev1.Reachability // what the nodes that watch it have found amiss
	watches    []*scorev1.Watch_Neighbour      // what it was told to watch
	deadline   int64                           // NodeGrace, then nodeMemory, after the stream was lost

	drain *state.Drain  // nil: it may have new jobs
	clock *scorev1.Ping // what it last told about its clock, or nil
}

// addressOf is where the node's agent listens; of no node it is "".
func (n *node) addressOf() string {
	if n == nil {
		return ""
	}
	return n.address
}

func (n *node) column() gang.Node {
	return gang.Node{ID: gang.NodeID(n.name), CPUs: int(n.cpus), Memory: int64(min(n.memory, gang.MaxMemory)), Channels: int(n.channels)}
}

func (b *brain) sortedNodes() []*node {
	return slices.SortedFunc(maps.Values(b.nodes), compareNames)
}

func compareNames(x, y *node) int { return cmp.Compare(x.name, y.name) }

func (b *brain) sortedJobs() []*job {
	return slices.SortedFunc(maps.Values(b.jobs), func(x, y *job) int { return cmp.Compare(x.id, y.id) })
}

// hello begins an agent's stream, or gives the sentence why not.
func (b *brain) hello(h *scorev1.Hello, link Link) (refusal string) {
	if refusal := b.refuse(h); refusal != "" {
		return refusal
	}
	n := b.nodes[h.GetNode()]
	if n == nil {
		n = &node{name: h.GetNode()}
		b.nodes[n.name] = n
	}
	old := n.link
	before := *n
	n.take(h)
	n.link, n.heard, n.since, n.deadline = link, b.now, b.now, 0
	n.fellSilent, n.suspects, n.watches = false, nil, nil
	b.ringDirty = true
	b.cutLost(n) // the agent tells it again
	b.closeLink(old, "")
	if !n.sameAs(&before) {
		b.propose(&statepb.Command{Command: &statepb.Command_RegisterNode{RegisterNode: &statepb.RegisterNode{Node: n.record()}}})
	}
	if n.column() != before.column() || !n.inMatrix {
		b.replaceColumn(n, before.inMatrix)
	}
	b.open(n)
	b.log("node connected", zap.String("node", n.name), zap.String("address", n.address), zap.Uint32("cpus", n.cpus))
	b.welcome(n, h)
	b.handBack(n) // what the leader that drained it did not come to
	return ""
}

func (b *brain) refuse(h *scorev1.Hello) string {
	switch {
	case h.GetCluster() != b.cluster:
		return fmt.Sprintf("this is the cluster %q, and the agent belongs to %q; correct the cluster's name or the servers' address in its configuration", b.cluster, clip(h.GetCluster()))
	case b.mismatch(h) != "":
		return b.mismatch(h)
	case len(h.GetVersion()) > maxText:
		return "the agent's version is too long"
	case !nodePattern.MatchString(h.GetNode()):
		return fmt.Sprintf("the node name %q may have up to 63 letters, digits, - and _", clip(h.GetNode()))
	case h.GetCpus() == 0 || h.GetCpus() > gang.MaxCPUsPerNode:
		return fmt.Sprintf("the node has %d CPUs; there must be 1 to %d", h.GetCpus(), gang.MaxCPUsPerNode)
	case h.GetChannels() > gang.MaxChannelsPerNode:
		return fmt.Sprintf("the node has %d channels; there can be at most %d", h.GetChannels(), gang.MaxChannelsPerNode)
	case h.GetAddress() == "" || len(h.GetAddress()) > maxText || len(h.GetBootId()) > maxText:
		return "the agent's address or boot id is empty or too long"
	case b.nodes[h.GetNode()] == nil && len(b.nodes) >= state.MaxNodes:
		return fmt.Sprintf("the cluster has %d nodes, and can have no more", state.MaxNodes)
	}
	n := b.nodes[h.GetNode()]
	if n == nil || n.link == nil || n.bootID == h.GetBootId() || b.now-n.heard > b.silence().Nanoseconds() {
		return ""
	}
	return fmt.Sprintf("a node named %s is connected already (its agent listens at %s); give this one another name", n.name, n.address)
}

// clip shortens a text to what is kept. No letter is cut in two: the log takes whole ones only.
func clip(text string) string {
	if len(text) > maxText {
		return strings.ToValidUTF8(text[:maxText], "") + "..."
	}
	return text
}

func (n *node) take(h *scorev1.Hello) {
	n.address, n.version, n.bootID = h.GetAddress(), h.GetVersion(), h.GetBootId()
	n.cpus, n.memory, n.sharesCPUs, n.channels = h.GetCpus(), h.GetMemoryBytes(), h.GetSharesCpus(), h.GetChannels()
	n.byLetter = h.GetFencesByLetter()
	n.notes = nil
	for _, note := range h.GetNotes()[:min(len(h.GetNotes()), maxNotesOfNode)] {
		n.notes = append(n.notes, clip(note))
	}
}

// sameAs tells whether the log already knows all this.
func (n *node) sameAs(other *node) bool {
	return n.address == other.address && n.version == other.version && n.bootID == other.bootID &&
		n.cpus == other.cpus && n.memory == other.memory && n.sharesCPUs == other.sharesCPUs && n.channels == other.channels && n.byLetter == other.byLetter && slices.Equal(n.notes, other.notes)
}

func (n *node) record() *statepb.Node {
	return &statepb.Node{
		Name: n.name, Address: n.address, Cpus: n.cpus, MemoryBytes: n.memory, Version: n.version,
		BootId: n.bootID, Notes: n.notes, SharesCpus: n.sharesCPUs, Channels: n.channels,
		FencesByLetter: n.byLetter,
	}
}

// replaceColumn gives the matrix the node as it is now. Jobs that run on the
// node as it was have lost it.
func (b *brain) replaceColumn(n *node, known bool) {
	if known {
		b.loseNode(n, "node "+n.name+" came back with other CPUs, memory or channels")
	}
	if err := b.gang.AddNode(n.column()); err != nil {
		b.log("a node does not fit into the matrix: "+err.Error(), zap.String("node", n.name))
		return
	}
	n.inMatrix = true
}

// welcome tells an agent all that it must know, whatever it knew before.
func (b *brain) welcome(n *node, h *scorev1.Hello) {
	held := h.GetJobs()
	spoken, _ := protocol.Own().Meet(agentRange(h)) // else it was refused
	b.heardOfEnded(n.name, held)
	var keep []uint64
	var concerned []*job
	for _, j := range b.sortedJobs() {
		p := j.part(n.name)
		if p == nil || p.lost && p.done || j.forgotten {
			continue
		}
		keep = append(keep, j.id) // also when it is over there: its output may still be read
		if j.active() && !p.done {
			concerned = append(concerned, j)
		}
	}
	b.send(n.link, &scorev1.ServerMessage{Message: &scorev1.ServerMessage_Welcome{Welcome: &scorev1.Welcome{
		Term: b.term, Cluster: b.cluster, Version: b.version, KeepJobs: keep, Protocol: spoken,
	}}})
	if serials := b.members.revoked(); len(serials) > 0 {
		b.send(n.link, revokedMessage(serials))
	}
	for _, j := range concerned {
		b.resume(n, j, slices.Contains(held, j.id))
	}
	for _, id := range held {
		if !slices.Contains(keep, id) {
			b.send(n.link, killMessage(id, "the job has ended"))
			b.send(n.link, forgetMessage(id))
		}
	}
	b.stageAgain(n)
	share := b.share(n)
	n.planned = share != nil
	b.sendPlan(n, share)
}

// resume brings a node and the leader to the same picture of one job.
func (b *brain) resume(n *node, j *job, held bool) {
	p := j.part(n.name)
	switch {
	case j.state == starting && (held || !b.mayHaveRun(n, j, p)):
		b.prepare(j, slices.Index(j.parts, p), b.prepareOrders(j))
	case p.lost:
		b.send(n.link, killMessage(j.id, j.verdict.GetMessage())) // and when it has ended there, it may begin anew
	case !held:
		b.step(j, evPartLost{p, "node " + n.name + " does not know the job any more since its agent was restarted"})
	case j.state == ending:
		b.send(n.link, killMessage(j.id, j.verdict.GetMessage()))
	case j.state == running:
		b.tellChildEnds(j, n)
		if j.spec.GetRecover() {
			b.tellGone(j, n)
		}
	}
}

// mayHaveRun tells whether a node that does not know a starting job could have
// run it. This leader has sent no plan with it yet; an earlier one may have, but
// an agent that has not been started anew since keeps what it was told.
func (b *brain) mayHaveRun(n *node, j *job, p *part) bool {
	return j.inherited && p.BootID != n.bootID
}

// linkLost notes that an agent's stream has ended.
func (b *brain) linkLost(name string, link Link) {
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

func (b *brain) setNodeDeadline(n *node, d time.Duration) {
	n.deadline = b.now + d.Nanoseconds()
	b.timers.add(timer{at: n.deadline, kind: timerNode, node: n.name})
}

// nodeLate gives up the jobs of a node that did not come back, and much later
// the node itself.
func (b *brain) nodeLate(n *node) {
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
func (b *brain) loseNode(n *node, reason string) {
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
