package leader

import (
	"context"
	"fmt"
	"score/gang"
	"score/scored/api/identity/pki"
	"score/scored/api/scorev1"
	"score/scored/state"
	"score/scored/state/statepb"
	"slices"

	"go.uber.org/zap"
)

// Administration of nodes: drain, resume, remove.

// updateDrain opens or closes the node for new gangs in the matrix. Only nodes that are connected
// and not drained get new gangs.
func (c *controller) updateDrain(n *node) {
	if !n.inMatrix {
		return
	}
	if err := c.gang.SetDrain(gang.NodeID(n.name), n.link == nil || n.drain != nil); err != nil {
		c.log("a node could not be drained: "+err.Error(), zap.String("node", n.name))
	}
	c.placeDirty = true
}

// drainNode keeps new jobs from a node. Its jobs continue, except that those that may be started
// again are requeued if the drain says so.
func (c *controller) drainNode(name string, d *state.Drain) (*scorev1.Node, error) {
	n := c.nodes[name]
	if n == nil {
		return nil, noNode(name)
	}
	d.Reason, d.Since = clip(d.Reason), c.now
	n.drain = d
	c.propose(&statepb.Command{Command: &statepb.Command_DrainNode{DrainNode: &statepb.DrainNode{
		Node: name, Drain: &statepb.Drain{Reason: d.Reason, By: d.By, Requeue: d.Requeue},
	}}})
	c.updateDrain(n)
	c.log("node drained", zap.String("node", name), zap.String("by", d.By), zap.String("reason", d.Reason))
	c.drainJobs(n)
	return c.nodeView(n), nil
}

// resumeNode lets a node take new jobs again.
func (c *controller) resumeNode(name string) (*scorev1.Node, error) {
	n := c.nodes[name]
	switch {
	case n == nil:
		return nil, noNode(name)
	case n.drain == nil:
		return nil, fmt.Errorf("%w: node %s is not drained", ErrState, name)
	}
	n.drain = nil
	c.propose(&statepb.Command{Command: &statepb.Command_DrainNode{DrainNode: &statepb.DrainNode{Node: name}}})
	c.updateDrain(n)
	if !n.inMatrix && n.link == nil {
		c.setNodeDeadline(n, nodeMemory)
	}
	c.log("node resumed", zap.String("node", name))
	return c.nodeView(n), nil
}

// removeNode removes a node without jobs from the cluster for good.
func (c *controller) removeNode(name string) (int, error) {
	n := c.nodes[name]
	if n == nil {
		return 0, noNode(name)
	}
	if jobs := c.jobsOn(n); len(jobs) > 0 {
		return 0, fmt.Errorf("%w: node %s has %s; drain it first with 'scored node drain %s'", ErrState, name, jobList(jobs), name)
	}
	if n.inMatrix {
		if _, err := c.gang.RemoveNode(gang.NodeID(name)); err != nil {
			return 0, fmt.Errorf("%w: %w", ErrState, err)
		}
		c.placeDirty, c.planDirty = true, true
	}
	c.watchesDirty = true
	c.forgetOn(n)
	delete(c.nodes, name)
	c.propose(&statepb.Command{Command: &statepb.Command_NodeGone{NodeGone: &statepb.NodeGone{Node: name}}})
	revoked := c.members.revoke(string(pki.Agent), name)
	if revoked > 0 {
		c.propose(&statepb.Command{Command: &statepb.Command_RevokeCertificates{
			RevokeCertificates: &statepb.RevokeCertificates{Role: string(pki.Agent), Name: name},
		}})
		c.sendRevoked()
	}
	c.closeLink(n.link, "node "+name+" was removed from the cluster; join it again with a new token")
	c.log("node removed", zap.String("node", name), zap.Int("certificates", revoked))
	return revoked, nil
}

// forgetOn makes the node forget ended jobs whose output was not read.
func (c *controller) forgetOn(n *node) {
	for _, j := range c.sortedJobs() {
		if !j.forgotten && j.part(n.name) != nil {
			c.send(n.link, forgetMessage(j.id))
		}
	}
}

// drainJobs requeues the restartable jobs of a drained node, if its drain says so.
func (c *controller) drainJobs(n *node) {
	if n.drain == nil || !n.drain.Requeue {
		return
	}
	for _, j := range c.sortedJobs() {
		if p := j.part(n.name); p != nil && j.active() && !p.done {
			c.step(j, evDrain{"node " + n.name + " was drained" + because(n.drain)})
		}
	}
}

func because(d *state.Drain) string {
	if d.Reason == "" {
		return ""
	}
	return " (" + d.Reason + ")"
}

// jobsOn returns the jobs that have a place on the node and are not over, ascending.
func (c *controller) jobsOn(n *node) (ids []uint64) {
	for _, j := range c.jobs {
		if j.active() && j.part(n.name) != nil {
			ids = append(ids, j.id)
		}
	}
	slices.Sort(ids)
	return ids
}

// jobList returns "job 3" or "jobs 3, 5".
func jobList(ids []uint64) string {
	if len(ids) == 1 {
		return "job " + gang.List(ids)
	}
	return "jobs " + gang.List(ids)
}

func noNode(name string) error {
	return fmt.Errorf("%w: there is no node %q; 'scored node list' shows them", ErrInvalid, clip(name))
}

// DrainNode keeps new jobs from a node; by is the user who asks. With requeue, jobs that may be
// started again go back to the queue.
func (l *Leader) DrainNode(ctx context.Context, node, reason, by string, requeue bool) (*scorev1.Node, error) {
	return decide(ctx, l, func(c *controller) (*scorev1.Node, error) {
		return c.drainNode(node, &state.Drain{Reason: reason, By: by, Requeue: requeue})
	})
}

// ResumeNode lets a drained node take jobs again.
func (l *Leader) ResumeNode(ctx context.Context, node string) (*scorev1.Node, error) {
	return decide(ctx, l, func(c *controller) (*scorev1.Node, error) { return c.resumeNode(node) })
}

// RemoveNode removes a node without jobs from the cluster, and returns how many of its certificates
// were revoked.
func (l *Leader) RemoveNode(ctx context.Context, node string) (int, error) {
	return decide(ctx, l, func(c *controller) (int, error) { return c.removeNode(node) })
}
