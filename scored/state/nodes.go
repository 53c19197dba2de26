package state

import (
	"fmt"
	"score/scored/state/statepb"
	"slices"
)

func (s *State) registerNode(c *statepb.RegisterNode) error {
	n := c.GetNode()
	if n.GetName() == "" || n.GetCpus() == 0 {
		return fmt.Errorf("%w: a node needs a name and a CPU", ErrCommand)
	}
	if s.nodes[n.GetName()] == nil && len(s.nodes) >= MaxNodes {
		return fmt.Errorf("%w: %d nodes", ErrTooMany, MaxNodes)
	}
	next := nodeFromProto(n)
	if known := s.nodes[next.Name]; known != nil {
		next.Drain = known.Drain // set by an administrator; the agent does not know it
	}
	put(s, s.nodes, next.Name, next)
	return nil
}

func (s *State) drainNode(c *statepb.DrainNode, now int64) error {
	node := s.nodes[c.GetNode()]
	if node == nil {
		return fmt.Errorf("%w: %q", ErrUnknownNode, c.GetNode())
	}
	next := *node
	next.Drain = drainFromProto(c.GetDrain())
	if next.Drain != nil {
		next.Drain.Since = now
	}
	put(s, s.nodes, node.Name, &next)
	return nil
}

func (s *State) nodeGone(c *statepb.NodeGone) error {
	if s.nodes[c.GetNode()] == nil {
		return fmt.Errorf("%w: %q", ErrUnknownNode, c.GetNode())
	}
	for _, job := range s.jobs { // any order: one is enough
		if job.Phase != Done && job.hasPlaceOn(c.GetNode()) {
			return fmt.Errorf("%w: %q", ErrNodeInUse, c.GetNode())
		}
	}
	put(s, s.nodes, c.GetNode(), nil)
	return nil
}

func (j *Job) hasPlaceOn(node string) bool {
	return slices.ContainsFunc(j.Places, func(p Place) bool { return p.Node == node })
}
