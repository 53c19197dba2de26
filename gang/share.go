package gang

import "slices"

// This file places ranks that share CPUs: those of oversubscribed jobs, and those of joiners if the
// gang's row has no free CPUs.

// findShared finds a fit for ranks that share CPUs: those of oversubscribed jobs. It takes whole
// nodes of a row, and of all rows the one that gives the most CPUs; of equal rows it takes one that
// exists.
func (f *finder) findShared(g *grid, q *demand, growth int) (fit, bool) {
	if !f.listRows(g, q, growth) || !f.listNodes(g, q) {
		return fit{}, false
	}
	best, bestCPUs := -1, 0
	for _, r := range f.rows {
		if !f.chooseShared(g, q, r) {
			continue
		}
		cpus := 0
		for _, p := range f.picks {
			cpus += int(g.cpus[p.pos])
		}
		if cpus > bestCPUs {
			best, bestCPUs = r, cpus
		}
	}
	if best < 0 {
		return fit{}, false
	}
	f.chooseShared(g, q, best)
	s := fit{row: best, nodeShares: make([]nodeShare, len(f.picks))}
	for i, p := range f.picks {
		s.nodeShares[i] = nodeShare{node: f.nodes[p.pos], cpus: g.freeCPUs(best, p.pos, int(g.cpus[p.pos])), ranks: int(p.ranks)}
	}
	return s, true
}

// chooseShared picks among the nodes that are completely free in row r.
func (f *finder) chooseShared(g *grid, q *demand, r int) bool {
	f.examined += len(f.elig)
	f.caps = f.caps[:0]
	for _, pos := range f.elig {
		c := int32(0)
		if g.rows[r].free[pos] == g.cpus[pos] {
			c = g.cpus[pos]
		}
		f.caps = append(f.caps, c)
	}
	return f.spread(g, q, r)
}

// spread picks q.nodes nodes, or as many as there are ranks, and gives each node ranks in
// proportion to its cap, which is the number of CPUs to share there. It picks the nodes with the
// most CPUs or, if the ranks do not fit there, the nodes that can take the most ranks.
func (f *finder) spread(g *grid, q *demand, r int) bool {
	f.bound(g, q, r)
	for i := range q.must {
		if f.caps[i] == 0 {
			return false
		}
	}
	if !f.pickShared(q, f.caps) && !f.pickShared(q, f.maxRanks) {
		return false
	}
	f.inNodeOrder()
	f.proportion(q.tasks)
	return true
}

// bound fills maxRanks, and sets the cap of nodes that can take no rank to 0.
func (f *finder) bound(g *grid, q *demand, r int) {
	f.maxRanks = f.maxRanks[:0]
	for i, pos := range f.elig {
		ranks := g.rows[r].channelsFor(MaxRanksPerNode, q, pos)
		if ranks == 0 {
			f.caps[i] = 0
		}
		if f.caps[i] == 0 {
			ranks = 0
		}
		f.maxRanks = append(f.maxRanks, ranks)
	}
}

// pickShared picks the nodes with the highest values in by, and reports whether they hold all
// ranks.
func (f *finder) pickShared(q *demand, by []int32) bool {
	f.picks = f.picks[:0]
	room := 0
	take := func(i int32) {
		room += int(f.maxRanks[i])
		f.picks = append(f.picks, pick{pos: f.elig[i], cap: f.caps[i], maxRanks: f.maxRanks[i]})
	}
	for i := range q.must {
		take(int32(i))
	}
	f.sortBy(by, len(q.must))
	want := q.nodes
	if want == 0 {
		want = max(min(q.tasks, len(q.must)+len(f.sorted)), len(q.must))
	}
	more := want - len(f.picks)
	if want == 0 || more > len(f.sorted) {
		return false
	}
	for _, i := range f.sorted[:more] {
		take(i)
	}
	return room >= q.tasks
}

// proportion gives every pick one rank and divides the others in proportion to CPUs.
func (f *finder) proportion(tasks int) {
	cpus := 0
	for _, p := range f.picks {
		cpus += int(p.cap)
	}
	spare := tasks - len(f.picks)
	left, full := spare, false
	for i := range f.picks {
		p := &f.picks[i]
		extra := spare * int(p.cap) / cpus
		p.ranks = int32(1 + extra)
		left -= extra
	}
	for i := 0; left > 0; i, left = i+1, left-1 { // fewer are left than there are picks
		f.picks[i].ranks++
	}
	for i := range f.picks {
		full = full || f.picks[i].ranks > f.picks[i].maxRanks
		f.picks[i].cap = f.picks[i].maxRanks
	}
	if full {
		f.level(tasks)
	}
}

// findJoin finds a fit for a joiner on its gang's nodes, in its gang's row: on free CPUs or, if
// there are too few, on all of the gang's own CPUs.
func (f *finder) findJoin(g *grid, q *demand, ga *gang) (fit, bool) {
	if !f.admitNodesOf(g, q, ga) {
		return fit{}, false
	}
	if f.chooseIn(g, q, ga.row) {
		return f.fitIn(g, q, ga.row), true
	}
	return f.findOnOwn(g, q, ga)
}

// findWithin finds a fit for a joiner on its gang's own CPUs.
func (f *finder) findWithin(g *grid, q *demand, ga *gang) (fit, bool) {
	if !f.admitNodesOf(g, q, ga) {
		return fit{}, false
	}
	return f.findOnOwn(g, q, ga)
}

// admitNodesOf makes those of the gang's nodes eligible that have memory for the joiner and are not
// excluded, the nodes that it must have first. It returns false if one of these is missing.
func (f *finder) admitNodesOf(g *grid, q *demand, ga *gang) bool {
	f.elig = f.elig[:0]
	for _, pos := range q.must {
		if ga.cpusOn(pos) == nil {
			return false
		}
		f.elig = append(f.elig, pos)
	}
	for i := range ga.nodeShares {
		if pos := ga.nodeShares[i].node.pos; !slices.Contains(q.must, pos) && !q.excludes(pos) {
			f.elig = append(f.elig, pos)
		}
	}
	kept := f.elig[:0]
	for i, pos := range f.elig {
		switch {
		case q.mem == 0 || g.mem[pos] >= q.mem:
			kept = append(kept, pos)
		case i < len(q.must):
			return false
		}
	}
	f.elig = kept
	return true
}

// findOnOwn finds a fit on the gang's own CPUs of the eligible nodes.
func (f *finder) findOnOwn(g *grid, q *demand, ga *gang) (fit, bool) {
	f.caps = f.caps[:0]
	for _, pos := range f.elig {
		f.caps = append(f.caps, int32(count(ga.cpusOn(pos))))
	}
	if !f.spread(g, q, ga.row) {
		return fit{}, false
	}
	s := fit{row: ga.row, nodeShares: make([]nodeShare, len(f.picks))}
	for i, p := range f.picks {
		s.nodeShares[i] = nodeShare{node: f.nodes[p.pos], cpus: slices.Clone(ga.cpusOn(p.pos)), ranks: int(p.ranks)}
	}
	return s, true
}

// cpusOn returns the gang's CPU set on a node, nil if it has none there.
func (ga *gang) cpusOn(pos int32) []uint64 {
	if s := ga.nodeShareOn(pos); s != nil {
		return s.cpus
	}
	return nil
}

// nodeShareOn returns the gang's part of a node, nil if it has none there.
func (ga *gang) nodeShareOn(pos int32) *nodeShare {
	for i := range ga.nodeShares {
		if ga.nodeShares[i].node.pos == pos {
			return &ga.nodeShares[i]
		}
	}
	return nil
}
