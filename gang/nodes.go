package gang

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// AddNode adds a node. It may take gangs at once.
func (m *Machine) AddNode(n Node) error {
	switch {
	case n.ID == "":
		return fmt.Errorf("%w: it has no name", ErrBadNode)
	case n.CPUs < 1 || n.CPUs > MaxCPUsPerNode:
		return fmt.Errorf("%w: %s has %d CPUs, must be 1 to %d", ErrBadNode, n.ID, n.CPUs, MaxCPUsPerNode)
	case n.Memory < 0 || n.Memory > MaxMemory:
		return fmt.Errorf("%w: %s has %d bytes of memory", ErrBadNode, n.ID, n.Memory)
	case n.Channels < 0 || n.Channels > MaxChannelsPerNode:
		return fmt.Errorf("%w: %s has %d channels, must be 0 to %d", ErrBadNode, n.ID, n.Channels, MaxChannelsPerNode)
	case m.byNode[n.ID] != nil:
		return fmt.Errorf("%w: %s", ErrDuplicateNode, n.ID)
	}
	added := &node{Node: n}
	at, _ := slices.BinarySearchFunc(m.nodes, n.ID, func(a *node, id NodeID) int {
		return compareNames(string(a.ID), string(id))
	})
	m.nodes = slices.Insert(m.nodes, at, added)
	m.byNode[n.ID] = added
	m.rebuild()
	return nil
}

// RemoveNode removes a node and returns the jobs that are lost with it, ascending. Lost jobs no
// longer run, but keep their resources on other nodes until Remove.
func (m *Machine) RemoveNode(id NodeID) ([]JobID, error) {
	n := m.byNode[id]
	if n == nil {
		return nil, fmt.Errorf("%w: %s", ErrUnknownNode, id)
	}
	var lost []JobID
	for _, ga := range m.gangs {
		if ga.cpusOn(n.pos) == nil {
			continue
		}
		for _, j := range ga.members {
			if j.leave(n) {
				lost = append(lost, j.req.ID)
			}
		}
		ga.refresh(m)
	}
	slices.Sort(lost)
	m.nodes = slices.Delete(m.nodes, int(n.pos), int(n.pos)+1)
	delete(m.byNode, id)
	m.rebuild()
	return lost, nil
}

// leave removes the job's nodeShare of a removed node. It reports whether the job is on the node
// and so loses a part.
func (j *job) leave(n *node) bool {
	had := len(j.nodeShares)
	j.nodeShares = slices.DeleteFunc(j.nodeShares, func(s nodeShare) bool { return s.node == n })
	if len(j.nodeShares) == had {
		return false
	}
	j.lost = !j.req.Survives || len(j.nodeShares) == 0
	return true
}

// SetDrain sets whether a node takes no new gangs. Running gangs continue.
func (m *Machine) SetDrain(id NodeID, drained bool) error {
	n := m.byNode[id]
	if n == nil {
		return fmt.Errorf("%w: %s", ErrUnknownNode, id)
	}
	if n.drained != drained {
		n.drained = drained
		m.rebuild()
	}
	return nil
}

// rebuild makes the grids again after a change of nodes or settings: such changes are rare, and too
// varied to apply in place.
func (m *Machine) rebuild() {
	rows := 0
	for _, ga := range m.gangs {
		rows = max(rows, ga.row+1)
	}
	for pos, n := range m.nodes {
		n.pos = int32(pos)
	}
	m.measureNodes()
	m.finder.nodes = m.nodes
	m.grid = newGrid(m.nodes, m.cfg.MaxRows, rows)
	m.empty = newGrid(m.nodes, 1, 1)
	m.whole = newGrid(m.nodes, 1, 1)
	clear(m.whole.drained)
	for _, ga := range m.gangs {
		m.grid.add(ga)
	}
	m.layout++
	m.full, m.freed = true, true
	m.rowsOK = false
}

// compareNames compares runs of digits by their value and everything else by bytes, as people order
// names. Names that differ only in leading zeros are ordered as strings.
func compareNames(a, b string) int {
	x, y := a, b
	for x != "" && y != "" {
		dx, dy := digits(x), digits(y)
		if dx == 0 || dy == 0 {
			if x[0] != y[0] {
				return cmp.Compare(x[0], y[0])
			}
			x, y = x[1:], y[1:]
			continue
		}
		nx, ny := strings.TrimLeft(x[:dx], "0"), strings.TrimLeft(y[:dy], "0")
		if d := cmp.Or(cmp.Compare(len(nx), len(ny)), cmp.Compare(nx, ny)); d != 0 {
			return d
		}
		x, y = x[dx:], y[dy:]
	}
	return cmp.Or(cmp.Compare(len(x), len(y)), cmp.Compare(a, b))
}

// digits returns the number of leading digits of a string.
func digits(s string) int {
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return n
}
