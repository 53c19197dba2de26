package node

import (
	"score/channels/link"
	"score/channels/rankmap"
)

// binding is a name and the socket that has it.
type binding struct {
	instance uint32
	socket   uint64 // node and reference
}

// published records which names sockets of other nodes have, as the topology service reports them.
// After a reconnection the service reports all names that are bound, but not those given up
// meanwhile: those are the names that it does not report again.
//
//	bound[b] == round    reported since the connection was made
//	len(bound) <= max
type published struct {
	bound map[binding]uint64 // the round in which it was last reported
	round uint64
	max   int // others' programs can bind as many as they like; what is more is not remembered
}

func newPublished(limit int) published { return published{bound: map[binding]uint64{}, max: limit} }

// bind records that a socket has a name.
func (p *published) bind(b binding) {
	if _, known := p.bound[b]; known || len(p.bound) < p.max {
		p.bound[b] = p.round
	}
}

// unbind records that a socket has given up a name.
func (p *published) unbind(b binding) { delete(p.bound, b) }

// beginRound begins a round: names that are not reported in it were given up.
func (p *published) beginRound() { p.round++ }

// settle ends a round, in which all bound names were reported. It returns those that were given up.
func (p *published) settle() (gone []binding) {
	for b, round := range p.bound {
		if round != p.round {
			gone = append(gone, b)
			delete(p.bound, b)
		}
	}
	return gone
}

// jobNames are the names of a job, and what the topology service reports of them. The fields after
// the first are the loop's; see topology.
type jobNames struct {
	link.Names
	subscription uint64
	squatted     bool // a squatter was reported
	published    published
	seen         seenNodes
}

// newJobNames returns the names of a job with the place map. kept: a former agent's node had the
// job; then no node is expected, since the others may have ended, and left.
func newJobNames(places *rankmap.Map, kept bool) *jobNames {
	names := &jobNames{Names: places.Names()}
	if !kept {
		names.seen = newSeenNodes(places.Nodes(), places.Own())
	}
	return names
}

// seenNodes records which nodes of a job have been seen, by the names of their directories. The
// zero value expects none.
type seenNodes struct {
	seen     []bool // by node
	missing  int
	reported bool // that nodes are missing
}

func newSeenNodes(nodes, own uint32) seenNodes {
	s := seenNodes{seen: make([]bool, nodes), missing: int(nodes)}
	s.see(own)
	return s
}

// see records that a node is there. A node that leaves stays seen.
func (s *seenNodes) see(node uint32) {
	if node < uint32(len(s.seen)) && !s.seen[node] {
		s.seen[node] = true
		s.missing--
	}
}

// unseen returns the nodes that have not been seen, up to limit of them.
func (s *seenNodes) unseen(limit int) (nodes []uint32) {
	for node, seen := range s.seen {
		if !seen && len(nodes) < limit {
			nodes = append(nodes, uint32(node))
		}
	}
	return nodes
}
