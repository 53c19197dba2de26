package leader

import (
	"score/gang"
	"score/scored/api/agentpb"
	"score/scored/state/statepb"
	"slices"
	"time"
)

const (
	// planLead is how far ahead a new plan takes effect on a cluster of a few nodes, if gangs
	// alternate: ten times what a message takes to reach an agent.
	planLead = 2 * time.Millisecond
	// planLeadPerNode is added for each node: making, encoding and sending its plan takes up to 17
	// us on two CPUs (docs/BENCHMARKS.md, scale), and the last node must have its plan in time too.
	planLeadPerNode = 20 * time.Microsecond
)

// PlanLead returns how far ahead a plan for so many nodes takes effect, so that all switch
// together.
func PlanLead(nodes int) time.Duration { return planLead + time.Duration(nodes)*planLeadPerNode }

// onMove commits a gang's new row for the next leader.
func (c *controller) onMove(move gang.Move) {
	for _, j := range c.gangOf(move.Job) {
		j.row = move.To
		if !j.active() {
			continue
		}
		c.propose(&statepb.Command{Command: &statepb.Command_MoveRow{MoveRow: &statepb.MoveRow{JobId: j.id, Row: int32(move.To)}}})
	}
	c.planDirty = true
}

// gangOf returns the job that a move names. (The matrix names every member.)
func (c *controller) gangOf(id gang.JobID) []*job {
	if j := c.jobs[uint64(id)]; j != nil {
		return []*job{j}
	}
	return nil
}

// replan makes and sends the next rotation plan if the rows have changed. Plans are not in the log:
// term and version order them, and a new leader derives its own from the committed state.
func (c *controller) replan() {
	rows := c.gang.Rows()
	if c.rotation.Has(rows) {
		return
	}
	lead := time.Duration(0) // if no nodes must switch at the same instant
	if len(rows) > 1 || len(c.rotation.Rows) > 1 {
		lead = PlanLead(c.countConcerned(rows))
	}
	// Plans take effect in the order in which they are made.
	c.planTime = max(c.planTime, c.now+lead.Nanoseconds())
	c.rotation = gang.Next(c.rotation, rows, c.now, time.Duration(c.planTime-c.now))
	c.stats.Plans++
	shares := c.rotation.Split(c.nodesOf)
	for _, n := range c.sortedNodes() {
		had := n.planned
		share, concerned := shares[gang.NodeID(n.name)]
		n.planned = concerned
		if concerned || had {
			c.sendPlan(n, share)
		}
	}
}

// countConcerned counts the nodes that need the new plan, or the end of the previous one.
func (c *controller) countConcerned(rows []gang.RotationRow) int {
	nodes := make(map[gang.NodeID]struct{}, len(c.nodes))
	for name, n := range c.nodes {
		if n.planned {
			nodes[gang.NodeID(name)] = struct{}{}
		}
	}
	for _, row := range rows {
		for _, id := range row.Present() {
			for _, node := range c.nodesOf(id) {
				nodes[node] = struct{}{}
			}
		}
	}
	return len(nodes)
}

// nodesOf returns the nodes of a job in the plan.
func (c *controller) nodesOf(id gang.JobID) []gang.NodeID {
	j := c.jobs[uint64(id)]
	if j == nil {
		return nil
	}
	nodes := make([]gang.NodeID, len(j.parts))
	for i, p := range j.parts {
		nodes[i] = gang.NodeID(p.Node)
	}
	return nodes
}

// share returns the jobs of one node by row of the plan, nil if there are none. gang.Rotation.Split
// is faster for all nodes at once.
func (c *controller) share(n *node) (share [][]gang.JobID) {
	for pos, row := range c.rotation.Rows {
		for _, id := range row.Present() {
			if j := c.jobs[uint64(id)]; j == nil || j.part(n.name) == nil {
				continue
			}
			if share == nil {
				share = make([][]gang.JobID, len(c.rotation.Rows))
			}
			share[pos] = append(share[pos], id)
		}
	}
	return share
}

// restingOf returns the jobs of a node's share that sleep; they are the same in every row.
func (c *controller) restingOf(share [][]gang.JobID) (resting []uint64) {
	if len(share) == 0 {
		return nil
	}
	for _, id := range c.rotation.Rows[0].Asleep {
		if slices.Contains(share[0], id) {
			resting = append(resting, uint64(id))
		}
	}
	return resting
}

// sendPlan sends a node its part of the plan: all rows, so that all nodes count the same time, and
// the node's own jobs in each. A nil share means no jobs.
func (c *controller) sendPlan(n *node, share [][]gang.JobID) {
	if n.link == nil {
		return
	}
	plan := &agentpb.Plan{Term: c.term, Version: c.rotation.Version, OriginNanos: c.rotation.Origin}
	for pos, row := range c.rotation.Rows {
		r := &agentpb.Plan_Row{Index: uint32(row.Index), SliceNanos: row.Slice.Nanoseconds()}
		if share != nil {
			for _, id := range share[pos] {
				r.Jobs = append(r.Jobs, uint64(id))
			}
		}
		plan.Rows = append(plan.Rows, r)
	}
	plan.Asleep = c.restingOf(share)
	c.send(n.link, &agentpb.ServerMessage{Message: &agentpb.ServerMessage_Plan{Plan: plan}})
}
