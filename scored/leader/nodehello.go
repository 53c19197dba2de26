package leader

import (
	"fmt"
	"regexp"
	"score/gang"
	"score/scored/api/agentpb"
	"score/scored/api/protocol"
	"score/scored/state"
	"score/scored/state/statepb"
	"slices"

	"go.uber.org/zap"
)

// nodePattern allows names that can be directory names and host names.
var nodePattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,62}$`)

// onHello starts an agent's stream, or returns the sentence with which it is refused.
func (c *controller) onHello(h *agentpb.Hello, link Link) (refusal string) {
	if refusal := c.refuse(h); refusal != "" {
		return refusal
	}
	n := c.nodes[h.GetNode()]
	if n == nil {
		n = &node{name: h.GetNode()}
		c.nodes[n.name] = n
	}
	old := n.link
	before := *n
	n.update(h)
	n.link, n.lastMessage, n.since, n.deadline = link, c.now, c.now, 0
	n.fellSilent, n.suspects, n.watches = false, nil, nil
	c.watchesDirty = true
	c.onCutLost(n) // the agent sends it again
	c.closeLink(old, "")
	if !n.sameAs(&before) {
		c.propose(&statepb.Command{Command: &statepb.Command_RegisterNode{RegisterNode: &statepb.RegisterNode{Node: n.record()}}})
	}
	if n.column() != before.column() || !n.inMatrix {
		c.replaceColumn(n, before.inMatrix)
	}
	c.updateDrain(n)
	c.log("node connected", zap.String("node", n.name), zap.String("address", n.address), zap.Uint32("cpus", n.cpus))
	c.sendJobs(n, h)
	c.drainJobs(n) // what the leader that drained it may not have finished
	return ""
}

func (c *controller) refuse(h *agentpb.Hello) string {
	switch {
	case h.GetCluster() != c.cluster:
		return fmt.Sprintf(
			"this is the cluster %q, and the agent belongs to %q; correct the cluster's name or the servers' address in its configuration",
			c.cluster,
			clip(h.GetCluster()),
		)
	case c.mismatch(h) != "":
		return c.mismatch(h)
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
	case c.nodes[h.GetNode()] == nil && len(c.nodes) >= state.MaxNodes:
		return fmt.Sprintf("the cluster has %d nodes, and can have no more", state.MaxNodes)
	}
	n := c.nodes[h.GetNode()]
	if !n.connected() || n.bootID == h.GetBootId() || c.now-n.lastMessage > c.silence().Nanoseconds() {
		return ""
	}
	return fmt.Sprintf("a node named %s is connected already (its agent listens at %s); give this one another name", n.name, n.address)
}

// replaceColumn gives the matrix the node's present size. Jobs that run on the node as it was have
// lost it.
func (c *controller) replaceColumn(n *node, known bool) {
	if known {
		c.loseNode(n, "node "+n.name+" came back with other CPUs, memory or channels")
	}
	if err := c.gang.AddNode(n.column()); err != nil {
		c.log("a node does not fit into the matrix: "+err.Error(), zap.String("node", n.name))
		return
	}
	n.inMatrix = true
}

// sendJobs sends an agent its complete state, whatever it had before.
func (c *controller) sendJobs(n *node, h *agentpb.Hello) {
	held := h.GetJobs()
	spoken, _ := protocol.Own().Meet(agentRange(h)) // otherwise it was refused
	c.onHeldJobs(n.name, held)
	var keep []uint64
	var concerned []*job
	for _, j := range c.sortedJobs() {
		p := j.part(n.name)
		if p == nil || p.lost && p.done || j.forgotten {
			continue
		}
		keep = append(keep, j.id) // also if it is over there: its output may be unread
		if j.active() && !p.done {
			concerned = append(concerned, j)
		}
	}
	c.send(n.link, &agentpb.ServerMessage{Message: &agentpb.ServerMessage_Welcome{Welcome: &agentpb.Welcome{
		Term: c.term, Cluster: c.cluster, Version: c.version, KeepJobs: keep, Protocol: spoken,
	}}})
	if serials := c.members.revoked(); len(serials) > 0 {
		c.send(n.link, revokedMessage(serials))
	}
	for _, j := range concerned {
		c.resume(n, j, slices.Contains(held, j.id))
	}
	c.stageAgain(n)
	share := c.share(n)
	n.planned = share != nil
	c.sendPlan(n, share)
}

// resume makes a node and the leader agree about one job.
func (c *controller) resume(n *node, j *job, held bool) {
	p := j.part(n.name)
	switch {
	case j.state == starting && (held || !c.mayHaveRun(n, j, p)):
		c.prepare(j, slices.Index(j.parts, p), c.prepareOrders(j))
	case p.lost:
		c.send(n.link, killMessage(j.id, j.verdict.GetMessage())) // the job may start again once it has ended there
	case !held:
		c.step(j, evPartLost{p, "node " + n.name + " does not know the job any more since its agent was restarted"})
	case j.graceUntil != 0:
		c.sendTerminate(n, j) // it may not have got the signal
	case j.state == ending:
		c.send(n.link, killMessage(j.id, j.verdict.GetMessage()))
	case j.state == running:
		c.sendChildEnds(j, n)
		if j.spec.GetRecover() {
			c.sendPartsGone(j, n)
		}
	}
}

// mayHaveRun reports whether a node that does not know a starting job can have run it. This leader
// has sent no plan with it yet. An earlier leader may have, but an agent that was not restarted
// since would know the job.
func (c *controller) mayHaveRun(n *node, j *job, p *part) bool {
	return j.inherited && p.BootID != n.bootID
}
