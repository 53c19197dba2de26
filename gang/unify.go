package gang

import (
	"cmp"
	"slices"
)

// unify empties rows if all their gangs find their CPUs free in other rows, from the highest row
// down. It does not move single gangs: these run in the other rows anyway, as guests, and only one
// row less makes turns come sooner. It keeps a row if the rotation would get longer without it,
// since promises depend on its length.
func (m *Machine) unify(d *Decision) {
	for r := len(m.grid.rows) - 1; r >= 0; r-- {
		if m.grid.rows[r].gangs == 0 || m.grid.present() == 1 {
			continue
		}
		if movers, to, ok := m.emptying(r); ok {
			for i, ga := range movers {
				m.moveGang(ga, to[i], d)
			}
		}
	}
	slices.SortFunc(d.Move, func(a, b Move) int { return cmp.Compare(a.Job, b.Job) })
}

// emptying returns for each gang of row r the other row that grows least by it, of equals the
// lowest. ok is false if the row cannot or should not be emptied. The gangs of a row have no CPU in
// common, so each is placed by itself; only channels are counted together.
func (m *Machine) emptying(r int) (movers []*gang, to []int, ok bool) {
	var weight [MaxRowsLimit]int
	rows := m.grid.rows
	for t := range rows {
		weight[t] = rows[t].weight()
	}
	growth := -weight[r]
	m.moved.clear(len(rows), len(m.nodes))
	for _, ga := range m.gangs {
		if ga.row != r {
			continue
		}
		best := -1
		for t := range rows {
			if t == r || rows[t].gangs == 0 || !m.grid.holds(t, ga) || !m.moved.hasRoomFor(m.grid, t, ga) || m.keptFrom(ga, t) {
				continue
			}
			if best < 0 || max(ga.weight, weight[t])-weight[t] < max(ga.weight, weight[best])-weight[best] {
				best = t
			}
		}
		if best < 0 {
			return nil, nil, false
		}
		growth += max(ga.weight-weight[best], 0)
		weight[best] = max(ga.weight, weight[best])
		m.moved.add(best, ga)
		movers, to = append(movers, ga), append(to, best)
	}
	return movers, to, growth <= 0
}

// keptFrom reports whether the gang would take resources of row t that are reserved for the head.
func (m *Machine) keptFrom(ga *gang, t int) bool {
	kept := m.head.kept
	if kept == nil || m.head.layout != m.layout || kept.row != t {
		return false
	}
	for i := range kept.nodeShares {
		s := &kept.nodeShares[i]
		at := ga.nodeShareOn(s.node.pos)
		if at == nil {
			continue
		}
		wanted := s.channels > 0 && at.channels > 0 && m.grid.rows[t].channels[s.node.pos] < s.channels+at.channels
		if wanted || intersects(s.cpus, at.cpus) {
			return true
		}
	}
	return false
}

func (m *Machine) moveGang(ga *gang, to int, d *Decision) {
	for _, j := range ga.members {
		at := slices.IndexFunc(d.Move, func(mv Move) bool { return mv.Job == j.req.ID })
		if at >= 0 {
			d.Move[at].To = to
		} else {
			d.Move = append(d.Move, Move{Job: j.req.ID, From: ga.row, To: to})
		}
	}
	m.grid.remove(ga)
	ga.row = to
	m.grid.add(ga)
}

// moved counts the channels that moving gangs take in their new rows.
type moved struct {
	nodes int
	taken []int32 // per row and node
}

func (o *moved) clear(rows, nodes int) {
	o.nodes = nodes
	o.taken = slices.Grow(o.taken[:0], rows*nodes)[:rows*nodes]
	clear(o.taken)
}

func (o *moved) add(r int, ga *gang) {
	for i := range ga.nodeShares {
		o.taken[r*o.nodes+int(ga.nodeShares[i].node.pos)] += ga.nodeShares[i].channels
	}
}

// hasRoomFor reports whether a row has channels left for one more gang.
func (o *moved) hasRoomFor(g *grid, r int, ga *gang) bool {
	for i := range ga.nodeShares {
		s := &ga.nodeShares[i]
		if s.channels > 0 && o.taken[r*o.nodes+int(s.node.pos)]+s.channels > g.rows[r].channels[s.node.pos] {
			return false
		}
	}
	return true
}
