package node

// binding is a name and the socket that has it.
type binding struct {
	instance uint32
	socket   uint64 // node and reference
}

// published keeps which names sockets of other nodes have, as the topology service tells. When the
// connection to it is made again, the service tells of all that is bound, and not of what was given up
// meanwhile: that is what it does not tell of again.
//
//	bound[b] == round    told of since the connection was made
//	len(bound) <= most
type published struct {
	bound map[binding]uint64 // the round in which it was last told of
	round uint64
	most  int // others' programs can bind as many as they like; what is more is not remembered
}

func newPublished(most int) published { return published{bound: map[binding]uint64{}, most: most} }

// bind takes that a socket has a name.
func (p *published) bind(b binding) {
	if _, known := p.bound[b]; known || len(p.bound) < p.most {
		p.bound[b] = p.round
	}
}

// unbind takes that a socket has given a name up.
func (p *published) unbind(b binding) { delete(p.bound, b) }

// doubt begins a round: whatever is not told of again was given up.
func (p *published) doubt() { p.round++ }

// settle ends a round: all that is bound was told of. It returns what was given up.
func (p *published) settle() (gone []binding) {
	for b, round := range p.bound {
		if round != p.round {
			gone = append(gone, b)
			delete(p.bound, b)
		}
	}
	return gone
}

// sightings keeps which nodes of a job have been seen: their directories' names. The zero value has
// none to look for.
type sightings struct {
	seen    []bool // by node
	missing int
	told    bool // that nodes are missing
}

func newSightings(nodes, own uint32) sightings {
	s := sightings{seen: make([]bool, nodes), missing: int(nodes)}
	s.see(own)
	return s
}

// see takes that a node is there. One that leaves has been seen.
func (s *sightings) see(node uint32) {
	if node < uint32(len(s.seen)) && !s.seen[node] {
		s.seen[node] = true
		s.missing--
	}
}

// unseen returns the nodes that have not been seen, up to most of them.
func (s *sightings) unseen(most int) (nodes []uint32) {
	for node, seen := range s.seen {
		if !seen && len(nodes) < most {
			nodes = append(nodes, uint32(node))
		}
	}
	return nodes
}
