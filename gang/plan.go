package gang

import (
	"cmp"
	"slices"
)

// Rows returns the rows of the rotation, by index. Each has a gang at home that may run and does
// not rest. Jobs lists the jobs that run in the row: the gangs at home, then guests, in queue
// order; a guest is a gang of another row whose CPUs and channels are all free. Asleep lists the
// jobs of resting gangs, see SetAsleep, and is the same in each row. If all gangs rest, Rows
// returns one row without Jobs. The result must not be changed.
func (m *Machine) Rows() []RotationRow {
	if m.rowsOK {
		return m.rows
	}
	m.rowsOK = true
	m.rows, m.residents = nil, nil
	m.rest()
	asleep := jobsOf(m.sleepers)
	guests := m.guests()
	t := m.newOccupancy()
	var weights []int
	for r := range m.grid.rows {
		t.clear(m.grid)
		m.reserve(t)
		residents, weight := m.atHome(r, t)
		if len(residents) == 0 {
			continue
		}
		for _, ga := range guests {
			if ga.row != r && m.take(t, ga) {
				residents = append(residents, ga)
			}
		}
		m.residents = append(m.residents, residents)
		m.rows = append(m.rows, RotationRow{Index: r, Jobs: jobsOf(residents), Asleep: asleep})
		weights = append(weights, weight)
	}
	for i, weight := range weights {
		m.rows[i].Slice = m.cfg.sliceOf(weight, slices.Min(weights))
	}
	if len(m.rows) == 0 && len(asleep) > 0 {
		home := slices.MinFunc(m.sleepers, func(a, b *gang) int { return cmp.Compare(a.row, b.row) })
		m.rows = []RotationRow{{Index: home.row, Slice: m.cfg.sliceOf(home.weight, home.weight), Asleep: asleep}}
		m.residents = [][]*gang{nil}
	}
	return m.rows
}

// guests returns the candidates for guests: the gangs that may run and do not rest, in queue order.
func (m *Machine) guests() []*gang {
	list := make([]*gang, 0, len(m.gangs))
	for _, ga := range m.gangs {
		if ga.hasTurn() {
			list = append(list, ga)
		}
	}
	slices.SortFunc(list, func(a, b *gang) int { return compareJobs(a.first(), b.first()) })
	return list
}

// atHome returns the gangs at home in row r that have a turn there, and their highest weight. It
// marks their CPUs and channels in t.
func (m *Machine) atHome(r int, t *occupancy) (residents []*gang, weight int) {
	if m.grid.rows[r].gangs == 0 {
		return nil, 0
	}
	for _, ga := range m.gangs {
		if ga.row == r && ga.hasTurn() {
			residents = append(residents, ga)
			weight = max(weight, ga.weight)
			m.take(t, ga)
		}
	}
	return residents, weight
}

// occupancy is the part of the cluster that is taken while a row runs.
type occupancy struct {
	busy     []uint64 // like gridRow.busy
	channels []int32  // per node: number of free channels
}

func (m *Machine) newOccupancy() *occupancy {
	return &occupancy{busy: make([]uint64, len(m.grid.full)), channels: make([]int32, len(m.grid.channels))}
}

func (t *occupancy) clear(g *grid) {
	clear(t.busy)
	copy(t.channels, g.channels)
}

// take marks a gang's CPUs and channels as taken if all of them are free, and reports whether they
// are.
func (m *Machine) take(t *occupancy, ga *gang) bool {
	for i := range ga.nodeShares {
		s := &ga.nodeShares[i]
		if s.channels > t.channels[s.node.pos] || intersects(m.grid.bits(t.busy, s.node.pos), s.cpus) {
			return false
		}
	}
	for i := range ga.nodeShares {
		s := &ga.nodeShares[i]
		t.channels[s.node.pos] -= s.channels
		union(m.grid.bits(t.busy, s.node.pos), s.cpus)
	}
	return true
}

// jobsOf returns the jobs of gangs that may run, ascending.
func jobsOf(gangs []*gang) []JobID {
	var ids []JobID
	for _, ga := range gangs {
		for _, j := range ga.members {
			if j.runnable() {
				ids = append(ids, j.req.ID)
			}
		}
	}
	slices.Sort(ids)
	return ids
}
