package fence

import "fmt"

// Arity is the number of children of a node in the tree. The root sends all
// data to each of its children, one after the other, which speaks for few; each
// level costs a round trip, which speaks for many. With 8, up to 9 nodes take
// one level and up to 73 two.
const Arity = 8

// Steps of the tree.
const (
	// Up carries the pieces of a subtree to its parent.
	Up Step = iota
	// Down carries all pieces from the parent.
	Down
)

// phase is how far an exchange has come on a node.
//
//	gathering --own piece and those of all children are here--> waiting
//	waiting   --all pieces come from the parent-->              over
//	gathering --the same, on the root-->                        over
type phase uint8

const (
	// gathering: own piece or one of a child is missing. Children may be ahead
	// of this node, so an exchange can begin with their piece.
	gathering phase = iota
	// waiting: the subtree's pieces are on their way up.
	waiting
)

// exchange is the state of the exchange that a kind is in. When it is over, the
// next begins in its place: no node can be two ahead, since none completes an
// exchange before all have added to it.
type exchange struct {
	seq   uint64
	phase phase
	// added: this node's piece is here. came[i]: that of child i is.
	added bool
	came  [Arity]bool
	// missing counts the pieces that are not here.
	missing int
	pieces  [][]byte
	size    int
}

// Tree gathers all pieces along a tree of nodes to node 0 and sends them down
// the same way. It takes two messages per node and 2*log8(n) hops.
type Tree struct {
	nodes, self int
	children    int
	exchanges   [kinds]exchange
	failed      error
	effects     []Effect
}

var _ Collective = (*Tree)(nil)

// NewTree returns the tree as node self of a job of that many nodes sees it.
// The error wraps ErrShape.
func NewTree(nodes, self int) (*Tree, error) {
	if nodes < 1 || self < 0 || self >= nodes {
		return nil, fmt.Errorf("%w: node %d of %d", ErrShape, self, nodes)
	}
	t := &Tree{nodes: nodes, self: self}
	t.children = max(0, min(Arity, nodes-t.child(0)))
	for kind := range t.exchanges {
		t.exchanges[kind] = t.fresh(1)
	}
	return t, nil
}

func (t *Tree) fresh(seq uint64) exchange {
	return exchange{seq: seq, missing: t.children + 1}
}

func (t *Tree) parent() int { return (t.self - 1) / Arity }

func (t *Tree) child(i int) int { return t.self*Arity + 1 + i }

// Add implements Collective.
func (t *Tree) Add(op Op, data []byte) []Effect {
	t.effects = t.effects[:0]
	x, ok := t.exchange(op)
	switch {
	case t.failed != nil:
		// Said again, since a rank waits for this one too.
		t.emit(Effect{Kind: Failed, Err: t.failed})
	case !ok || op.Seq != x.seq || x.added:
		t.fail(fmt.Errorf("%w: this node adds to %v out of turn", ErrProtocol, op))
	default:
		x.added = true
		t.take(x, op, data)
	}
	return t.effects
}

// Receive implements Collective.
func (t *Tree) Receive(from int, message Message) []Effect {
	t.effects = t.effects[:0]
	if t.failed != nil {
		return nil
	}
	x, ok := t.exchange(message.Op)
	if !ok {
		t.fail(fmt.Errorf("%w: node %d speaks of kind %d", ErrProtocol, from, message.Op.Kind))
		return t.effects
	}
	if message.Op.Seq < x.seq {
		// A repeated message of an exchange that is over.
		return nil
	}
	if message.Op.Seq > x.seq {
		t.fail(fmt.Errorf("%w: node %d is in %v, this node in exchange %d", ErrProtocol, from, message.Op, x.seq))
		return t.effects
	}
	switch message.Step {
	case Up:
		t.receiveUp(x, from, message)
	case Down:
		t.receiveDown(x, from, message)
	default:
		t.fail(fmt.Errorf("%w: step %d of node %d", ErrProtocol, message.Step, from))
	}
	return t.effects
}

func (t *Tree) receiveUp(x *exchange, from int, message Message) {
	i := from - t.child(0)
	if i < 0 || i >= t.children {
		t.fail(fmt.Errorf("%w: node %d is no child of node %d", ErrProtocol, from, t.self))
		return
	}
	if x.came[i] {
		return
	}
	x.came[i] = true
	t.take(x, message.Op, message.Data)
}

func (t *Tree) receiveDown(x *exchange, from int, message Message) {
	if t.self == 0 || from != t.parent() || x.phase != waiting {
		t.fail(fmt.Errorf("%w: node %d ends %v on node %d too early", ErrProtocol, from, message.Op, t.self))
		return
	}
	if len(message.Data) > MaxBytes {
		t.fail(fmt.Errorf("%w: %d bytes, the most is %d", ErrTooLarge, len(message.Data), MaxBytes))
		return
	}
	t.finish(x, message.Op, message.Data)
}

// take adds a piece, and passes the pieces on when none is missing.
func (t *Tree) take(x *exchange, op Op, data []byte) {
	if x.size += len(data); x.size > MaxBytes {
		t.fail(fmt.Errorf("%w: more than %d bytes", ErrTooLarge, MaxBytes))
		return
	}
	x.pieces = append(x.pieces, data)
	if x.missing--; x.missing > 0 {
		return
	}
	all := join(x.pieces, x.size)
	if t.self == 0 {
		t.finish(x, op, all)
		return
	}
	x.phase, x.pieces = waiting, nil
	t.emit(Effect{Kind: Send, To: t.parent(), Message: Message{Op: op, Step: Up, Data: all}})
}

// finish hands the data to the children and to this node.
func (t *Tree) finish(x *exchange, op Op, all []byte) {
	for i := range t.children {
		t.emit(Effect{Kind: Send, To: t.child(i), Message: Message{Op: op, Step: Down, Data: all}})
	}
	t.emit(Effect{Kind: Done, Message: Message{Op: op, Data: all}})
	*x = t.fresh(x.seq + 1)
}

// Lost implements Collective. The loss of any node ends the exchanges, also of
// one that has already given its piece: it cannot get the result.
func (t *Tree) Lost(node int, reason string) []Effect {
	t.effects = t.effects[:0]
	if t.failed == nil && node != t.self && node >= 0 && node < t.nodes {
		t.fail(fmt.Errorf("%w: node %d: %s", ErrLost, node, reason))
	}
	return t.effects
}

// fail ends everything and lets go of the data.
func (t *Tree) fail(err error) {
	t.failed = err
	t.exchanges = [kinds]exchange{}
	t.emit(Effect{Kind: Failed, Err: err})
}

func (t *Tree) exchange(op Op) (*exchange, bool) {
	if op.Kind >= kinds {
		return nil, false
	}
	return &t.exchanges[op.Kind], true
}

func (t *Tree) emit(effect Effect) { t.effects = append(t.effects, effect) }

// join puts pieces one after the other; a single one is passed on as it is.
func join(pieces [][]byte, size int) []byte {
	if len(pieces) == 1 {
		return pieces[0]
	}
	all := make([]byte, 0, size)
	for _, piece := range pieces {
		all = append(all, piece...)
	}
	return all
}
