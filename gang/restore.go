package gang

import (
	"fmt"
	"slices"
)

// Restore places a job as another machine had placed it. A new leader uses it to rebuild its
// machine from the replicated state: first it adds nodes, then it restores placed jobs in ascending
// order, then it submits waiting jobs. An allocation that does not fit changes nothing.
func (m *Machine) Restore(req Request, a Allocation) error {
	req = normal(req)
	if err := checkForm(&req); err != nil {
		return err
	}
	if m.jobs[req.ID] != nil {
		return fmt.Errorf("%w: %d", ErrDuplicateJob, req.ID)
	}
	j := &job{req: req, key: m.keyOf(&req), places: a.Places}
	if err := m.placesToShares(j, &a); err != nil {
		return err
	}
	ga, err := m.gangOf(j, &a)
	if err != nil {
		return err
	}
	m.growRows(a.Row)
	if ga != nil {
		m.admit(j, ga)
	} else {
		ga = m.restoreGang(j, &a)
	}
	j.gang = ga
	m.jobs[req.ID] = j
	m.full, m.rowsOK = true, false
	return nil
}

// placesToShares converts an allocation's places, which may come from a file, into nodeShares.
func (m *Machine) placesToShares(j *job, a *Allocation) error {
	conflict := func(format string, args ...any) error {
		return fmt.Errorf("%w: job %d: %s", ErrConflict, j.req.ID, fmt.Sprintf(format, args...))
	}
	if a.Job != j.req.ID || a.Row < 0 || a.Row >= MaxRowsLimit {
		return conflict("the allocation is that of job %d in row %d", a.Job, a.Row)
	}
	ranks := 0
	for i := range a.Places {
		p := &a.Places[i]
		n := m.byNode[p.Node]
		if n == nil {
			return fmt.Errorf("%w: %s, on which job %d runs", ErrUnknownNode, p.Node, j.req.ID)
		}
		s := nodeShare{node: n, cpus: make([]uint64, wordsFor(n.CPUs)), ranks: len(p.Ranks)}
		for _, c := range p.CPUs {
			if c < 0 || c >= n.CPUs {
				return conflict("node %s has no CPU %d", p.Node, c)
			}
			setBit(s.cpus, c)
		}
		if len(p.CPUs) == 0 || len(p.Ranks) == 0 {
			return conflict("no CPU or no rank is on node %s", p.Node)
		}
		if m.grid.mem[n.pos] < j.req.MemPerNode {
			return conflict("node %s does not have enough memory left", p.Node)
		}
		ranks += s.ranks
		j.nodeShares = append(j.nodeShares, s)
	}
	slices.SortFunc(j.nodeShares, func(a, b nodeShare) int { return int(a.node.pos - b.node.pos) })
	for i := 1; i < len(j.nodeShares); i++ {
		if j.nodeShares[i].node == j.nodeShares[i-1].node {
			return conflict("node %s is listed twice", j.nodeShares[i].node.ID)
		}
	}
	if ranks != j.req.Tasks {
		return conflict("it has %d ranks of %d", ranks, j.req.Tasks)
	}
	return nil
}

// gangOf returns the gang to which the job belongs, nil if the job is the first of its gang. It
// checks that the job's CPUs are free or belong to that gang.
func (m *Machine) gangOf(j *job, a *Allocation) (*gang, error) {
	var own *gang
	if at, found := m.findGang(gangOfAllocation(a)); found {
		own = m.gangs[at]
		if own.row != a.Row {
			return nil, fmt.Errorf("%w: job %d is in row %d, its gang in row %d", ErrConflict, a.Job, a.Row, own.row)
		}
	}
	for i := range j.nodeShares {
		if err := m.checkNodeShare(j, a.Row, own, &j.nodeShares[i]); err != nil {
			return nil, err
		}
	}
	if own == nil || !j.req.Exclusive {
		return own, nil
	}
	for i := range own.nodeShares { // the joiner makes all of its gang exclusive
		if n := own.nodeShares[i].node; m.grid.gangs[n.pos] > 1 {
			return nil, fmt.Errorf("%w: the gang of job %d cannot be with others on %s", ErrConflict, a.Job, n.ID)
		}
	}
	return own, nil
}

// checkNodeShare checks that the resources of a nodeShare are free or belong to the job's own gang.
func (m *Machine) checkNodeShare(j *job, r int, own *gang, s *nodeShare) error {
	pos := s.node.pos
	gangs, lone := m.grid.gangs[pos], m.grid.exclusives[pos]
	taken := make([]uint64, len(s.cpus))
	if r < len(m.grid.rows) {
		copy(taken, m.grid.bits(m.grid.rows[r].busy, pos))
	}
	if own != nil {
		if mine := own.cpusOn(pos); mine != nil {
			subtract(taken, mine)
			gangs--
			if own.exclusive {
				lone--
			}
		}
	}
	free := int32(s.node.Channels)
	if r < len(m.grid.rows) {
		free = m.grid.rows[r].channels[pos]
	}
	switch {
	case int32(s.ranks*j.req.Channels) > free:
		return fmt.Errorf("%w: channels of job %d on %s are taken in row %d", ErrConflict, j.req.ID, s.node.ID, r)
	case intersects(taken, s.cpus):
		return fmt.Errorf("%w: CPUs of job %d on %s are taken in row %d", ErrConflict, j.req.ID, s.node.ID, r)
	case lone > 0 || (j.req.Exclusive && gangs > 0):
		return fmt.Errorf("%w: job %d cannot be with others on %s", ErrConflict, j.req.ID, s.node.ID)
	}
	return nil
}

func gangOfAllocation(a *Allocation) JobID {
	if a.Gang != 0 {
		return a.Gang
	}
	return a.Job
}

// growRows makes room for a row beyond MaxRows, which may have been lowered after the row was made.
func (m *Machine) growRows(row int) {
	if row < len(m.grid.rows) {
		return
	}
	grown := newGrid(m.nodes, m.cfg.MaxRows, row+1)
	for _, ga := range m.gangs {
		grown.add(ga)
	}
	m.grid = grown
}

func (m *Machine) restoreGang(j *job, a *Allocation) *gang {
	ga := &gang{id: gangOfAllocation(a), row: a.Row, members: []*job{j}}
	ga.refresh(m)
	at, _ := m.findGang(ga.id)
	m.gangs = slices.Insert(m.gangs, at, ga)
	m.grid.add(ga)
	return ga
}
