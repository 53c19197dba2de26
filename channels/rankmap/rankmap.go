package rankmap

import (
	"errors"
	"fmt"
	"score/channels/abi"
	"score/channels/link"
	"slices"
)

// ErrPlaces means that something is no place map; all errors of the package but the
// system's wrap it.
var ErrPlaces = errors.New("places: not a place map")

// NoNode is the node of a rank that the job does not have.
const NoNode = ^uint32(0)

// MaxNodes bounds the nodes of a job: every node has a rank, and a directory of
// this many addresses still fits into 2 MiB.
const MaxNodes = 1 << 16

// Map is the place map of a job as one node sees it. It does not change, so
// any number of goroutines may use it.
type Map struct {
	own         uint32
	directories []link.Address // by node
	nodeOf      []uint32       // by rank
}

// New makes a map: own is the index of this node, directories has each node's address,
// nodeOf each rank's node. The error wraps ErrPlaces.
func New(own uint32, directories []link.Address, nodeOf []uint32) (*Map, error) {
	m := &Map{own: own, directories: slices.Clone(directories), nodeOf: slices.Clone(nodeOf)}
	if err := m.check(); err != nil {
		return nil, err
	}
	return m, nil
}

func (m *Map) check() error {
	nodes, ranks := len(m.directories), len(m.nodeOf)
	switch {
	case nodes == 0 || nodes > MaxNodes:
		return fmt.Errorf("%w: %d nodes, want 1 to %d", ErrPlaces, nodes, MaxNodes)
	case ranks == 0 || ranks > abi.MaxRanks:
		return fmt.Errorf("%w: %d ranks, want 1 to %d", ErrPlaces, ranks, abi.MaxRanks)
	case uint64(m.own) >= uint64(nodes):
		return fmt.Errorf("%w: this is node %d of %d", ErrPlaces, m.own, nodes)
	}
	if m.Named() {
		return errors.Join(m.checkNames(), m.checkRanks())
	}
	for node, at := range m.directories {
		a := at.AddrPort()
		if !a.IsValid() || a.Port() == 0 || a.Addr().IsUnspecified() || a.Addr().Zone() != "" {
			return fmt.Errorf("%w: node %d at %v", ErrPlaces, node, a)
		}
	}
	return m.checkRanks()
}

// checkNames checks that the directories' names stand side by side, as those of a job do.
func (m *Map) checkNames() error {
	n := m.Names()
	for node, at := range m.directories {
		if at != n.Directory(uint32(node)) || uint64(n.Last()) < uint64(n.Base) {
			return fmt.Errorf("%w: node %d at %v", ErrPlaces, node, at)
		}
	}
	return nil
}

func (m *Map) checkRanks() error {
	nodes := len(m.directories)
	for rank, node := range m.nodeOf {
		if uint64(node) >= uint64(nodes) {
			return fmt.Errorf("%w: rank %d on node %d of %d", ErrPlaces, rank, node, nodes)
		}
	}
	return nil
}

// Named reports whether the job's nodes and ranks are found by name (TIPC).
func (m *Map) Named() bool { return m.directories[0].IsTIPC() }

// Names are the job's if it is Named.
func (m *Map) Names() link.Names {
	kind, base, _ := m.directories[0].Name()
	return link.Names{Kind: kind, Base: base, Nodes: m.Nodes(), Ranks: m.Ranks()}
}

// Own is the index of this node.
func (m *Map) Own() uint32 { return m.own }

// Nodes returns how many nodes the job has.
func (m *Map) Nodes() uint32 { return uint32(len(m.directories)) }

// Ranks returns how many ranks the job has.
func (m *Map) Ranks() uint32 { return uint32(len(m.nodeOf)) }

// Node is the index of the rank's node, or NoNode.
func (m *Map) Node(rank uint32) uint32 {
	if uint64(rank) >= uint64(len(m.nodeOf)) {
		return NoNode
	}
	return m.nodeOf[rank]
}

// Directory is where a node's directory listens; zero for a node that the job does not have.
func (m *Map) Directory(node uint32) link.Address {
	if uint64(node) >= uint64(len(m.directories)) {
		return link.Address{}
	}
	return m.directories[node]
}

// Local lists the ranks of this node, ascending.
func (m *Map) Local() []uint32 {
	var local []uint32
	for rank, node := range m.nodeOf {
		if node == m.own {
			local = append(local, uint32(rank))
		}
	}
	return local
}

// Remote reports whether a rank is on another node.
func (m *Map) Remote() bool {
	return slices.ContainsFunc(m.nodeOf, func(node uint32) bool { return node != m.own })
}
