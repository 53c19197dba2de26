package gossip

import (
	"errors"
	"fmt"
)

// Kind is the kind of a failure.
type Kind uint8

const (
	// PartLost means that nothing of the job runs on a node any more, or the node cannot be
	// reached.
	PartLost Kind = 1
	// RankFailed means that a rank on a node failed, and its gang ends with it.
	RankFailed Kind = 2
	// RankLost means that a rank failed, and the job goes on without it.
	RankLost Kind = 3
	// RankReborn means that a rank failed and was started again.
	RankReborn Kind = 4
)

const (
	// MaxReason bounds the sentence of a failure, in bytes.
	MaxReason = 1024
	// MaxItems bounds the failures that are remembered for one job: each lost node, and the first
	// ranks that failed. Later ones change nothing.
	MaxItems = 1 << 14
)

// ErrShape means that a job has no such node.
var ErrShape = errors.New("a job has no such node")

// Item is one failure.
type Item struct {
	Kind   Kind
	Node   int
	Rank   uint32 // of all but PartLost
	Reason string // a sentence
	// Incarnation of RankReborn is how often the rank was started again.
	Incarnation uint32
	// Fences of RankLost is the number of fences to which the rank's node has contributed.
	Fences uint64
}

// key identifies an item.
type key struct {
	kind Kind
	node int
	rank uint32
	time uint32 // Incarnation
}

// Effect is a message to another node or, if Deliver, a failure for this one.
type Effect struct {
	Deliver bool
	To      int
	Item    Item
}

// Machine is the gossip of one node of one job.
type Machine struct {
	nodes, self int
	neighbours  []int
	known       map[key]bool
	effects     []Effect
}

// New returns the machine of node self, for a job of that many nodes. The error wraps ErrShape.
func New(nodes, self int) (*Machine, error) {
	if nodes < 1 || self < 0 || self >= nodes {
		return nil, fmt.Errorf("%w: node %d of %d", ErrShape, self, nodes)
	}
	return &Machine{nodes: nodes, self: self, neighbours: neighbours(nodes, self), known: make(map[key]bool)}, nil
}

// neighbours returns the nodes at distances of powers of two, in both directions.
func neighbours(nodes, self int) (list []int) {
	seen := map[int]bool{self: true}
	for stride := 1; stride < nodes; stride *= 2 {
		for _, n := range []int{(self + stride) % nodes, (self - stride + nodes) % nodes} {
			if !seen[n] {
				seen[n] = true
				list = append(list, n)
			}
		}
	}
	return list
}

// Learn handles a failure that this node has found itself. The slice is valid until the next call.
func (m *Machine) Learn(item Item) []Effect { return m.take(m.self, item) }

// Receive handles a message from another node, and drops an invalid one. The slice is valid until
// the next call.
func (m *Machine) Receive(from int, item Item) []Effect {
	if from < 0 || from >= m.nodes || len(item.Reason) > MaxReason {
		return nil
	}
	return m.take(from, item)
}

func (m *Machine) take(from int, item Item) []Effect {
	m.effects = m.effects[:0]
	k := key{item.Kind, item.Node, item.Rank, item.Incarnation}
	switch {
	case item.Node < 0 || item.Node >= m.nodes, item.Kind < PartLost, item.Kind > RankReborn:
		return nil
	case (item.Kind == RankReborn) != (item.Incarnation != 0):
		return nil
	case item.Kind == PartLost && item.Rank != 0, m.known[k], len(m.known) == MaxItems:
		return nil
	}
	m.known[k] = true
	if item.Node != m.self { // this node knows itself best
		m.effects = append(m.effects, Effect{Deliver: true, Item: item})
	}
	for _, to := range m.neighbours {
		if to != from && to != item.Node {
			m.effects = append(m.effects, Effect{To: to, Item: item})
		}
	}
	return m.effects
}
