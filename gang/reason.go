package gang

import (
	"fmt"
	"slices"
	"strings"
)

// Reason is an obstacle that keeps a job waiting.
type Reason int

// The reasons. Explanation lists them in this order.
const (
	// ForNodes: too few nodes are present and not drained, whatever else runs.
	ForNodes Reason = iota + 1
	// ForMemory: the jobs of all rows together reserve too much memory.
	ForMemory
	// ForExclusive: the job is exclusive and others run on the nodes, or exclusive jobs hold them.
	ForExclusive
	// ForChannels: MaxRows exist, and none has enough free channels beside enough free CPUs.
	ForChannels
	// ForRows: MaxRows exist, and none has enough free CPUs.
	ForRows
	// ForTurn: the job would fit, but could delay a job before it.
	ForTurn
	// ForGang: the gang that the job wants to join has no room.
	ForGang
	// ForPass: the job was submitted after the last Schedule.
	ForPass
	// ForOwner: the job's owner has the most jobs or CPUs that the owner's limits allow, or so many
	// waiting jobs that the last pass has not come to this one.
	ForOwner
)

func (r Reason) String() string {
	switch r {
	case ForNodes:
		return "nodes"
	case ForMemory:
		return "memory"
	case ForExclusive:
		return "exclusive nodes"
	case ForChannels:
		return "free channels"
	case ForRows:
		return "free CPUs"
	case ForTurn:
		return "its turn"
	case ForGang:
		return "room beside the gang it joins"
	case ForPass:
		return "the scheduler"
	case ForOwner:
		return "its user's other jobs"
	}
	return fmt.Sprintf("Reason(%d)", int(r))
}

// detail compares the job's demand with the free resources, for the first reason.
func (m *Machine) detail(j *job, reasons []Reason) string {
	usable, roomy, alone := m.countNodes(j)
	switch reasons[0] {
	case ForNodes:
		return fmt.Sprintf("it asks for %s; nodes that can be used: %d", j.wants(), usable)
	case ForMemory:
		return fmt.Sprintf("it asks for %s on each node; nodes with that free: %d of %d", FormatMemoryAsked(j.req.MemPerNode), roomy, usable)
	case ForExclusive:
		return fmt.Sprintf("nodes open to it: %d of %d", alone, usable)
	case ForRows:
		return fmt.Sprintf("no row has as many, and there can be no more than %s", plural(m.cfg.MaxRows, "row"))
	case ForChannels:
		return fmt.Sprintf("it asks for %s of each task; no row has as many, and there can be no more than %s",
			plural(j.req.Channels, "channel"), plural(m.cfg.MaxRows, "row"))
	case ForOwner:
		if j.untried {
			return "too many of them wait before it; it is looked at when some of these run, or were cancelled"
		}
		return m.ownerDetail(j)
	case ForTurn:
		if m.head.job != nil {
			return fmt.Sprintf("it would fit, but could delay job %d", m.head.job.req.ID)
		}
		return ""
	default:
		return ""
	}
}

// wants describes the nodes that a job asks for.
func (j *job) wants() string {
	switch {
	case len(j.req.NodeList) > 0:
		names := make([]string, len(j.req.NodeList))
		for i, id := range j.req.NodeList {
			names[i] = string(id)
		}
		return strings.Join(names, " ")
	case j.req.Nodes > 0:
		return plural(j.req.Nodes, "node")
	}
	return plural(j.req.Tasks, "task")
}

// countNodes counts the nodes that a job can use: of the listed nodes, or of all, those that are
// neither drained nor excluded. roomy counts those with enough memory, alone those that exclusivity
// leaves open to the job.
func (m *Machine) countNodes(j *job) (usable, roomy, alone int) {
	q := m.prepare(j)
	must := q.must
	for pos, n := range m.nodes {
		listed := len(j.req.NodeList) == 0
		if len(must) > 0 && int(must[0]) == pos {
			must, listed = must[1:], true
		}
		if n.drained || !listed || q.excludes(int32(pos)) {
			continue
		}
		usable++
		if m.grid.mem[pos] >= j.req.MemPerNode {
			roomy++
		}
		if m.grid.gangs[pos] == 0 || (!j.req.Exclusive && m.grid.exclusives[pos] == 0) {
			alone++
		}
	}
	return usable, roomy, alone
}

// reasons returns the smallest set of obstacles without which the job would fit.
func (m *Machine) reasons(j *job) []Reason {
	if !m.possible(j) {
		return []Reason{ForNodes}
	}
	if slices.Contains(m.fresh, j) {
		return []Reason{ForPass}
	}
	m.countOwners()
	if m.withheld(j) || j.untried {
		return []Reason{ForOwner}
	}
	if _, ok := m.fitFor(m.grid, j, anyGrowth); ok {
		return []Reason{ForTurn}
	}
	tries := [][]Reason{
		{ForMemory},
		{ForExclusive},
		{ForChannels},
		{ForRows},
		{ForMemory, ForExclusive},
		{ForMemory, ForChannels},
		{ForMemory, ForRows},
		{ForExclusive, ForChannels},
		{ForExclusive, ForRows},
		{ForMemory, ForExclusive, ForChannels},
	}
	for _, without := range tries {
		m.probeWithout(without)
		if _, ok := m.fitFor(&m.probe, j, anyGrowth); ok {
			return without
		}
	}
	return []Reason{ForMemory, ForExclusive, ForRows}
}

// probeWithout sets probe to the present cluster without the given obstacles.
func (m *Machine) probeWithout(obstacles []Reason) {
	from := m.grid
	if slices.Contains(obstacles, ForRows) {
		from = m.empty
	}
	m.probe.copyFrom(from)
	copy(m.probe.mem, m.grid.mem)
	copy(m.probe.gangs, m.grid.gangs)
	copy(m.probe.exclusives, m.grid.exclusives)
	if slices.Contains(obstacles, ForMemory) {
		copy(m.probe.mem, m.empty.mem)
	}
	if slices.Contains(obstacles, ForChannels) {
		for r := range m.probe.rows {
			copy(m.probe.rows[r].channels, m.grid.channels)
		}
	}
	if slices.Contains(obstacles, ForExclusive) {
		clear(m.probe.gangs)
		clear(m.probe.exclusives)
	}
}
