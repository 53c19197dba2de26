package fence

import (
	"fmt"
	"slices"
)

// Arity is the number of children of a node in the tree. A small arity is better because the root
// sends all data to each of its children in turn; a large one because each level costs a round
// trip. With 8, up to 9 nodes take one level and up to 73 two.
const Arity = 8

// Steps of the tree.
const (
	// Up carries the pieces of a subtree to its parent.
	Up Step = iota
	// Down carries all pieces from the parent.
	Down
)

// Tree gathers all pieces along a tree of nodes at node 0, and sends them down the same way. It
// takes two messages per node and 2*log8(n) hops.
type Tree struct {
	nodes, self int
	children    int
	exchanges   [kinds]exchange
	failed      error
	effects     []Effect
}

var _ Collective = (*Tree)(nil)

// NewTree returns node self's tree for a job of this many nodes. The error wraps ErrShape.
func NewTree(nodes, self int) (*Tree, error) {
	if nodes < 1 || self < 0 || self >= nodes {
		return nil, fmt.Errorf("%w: node %d of %d", ErrShape, self, nodes)
	}
	t := &Tree{nodes: nodes, self: self}
	t.children = max(0, min(Arity, nodes-t.child(0)))
	return t, nil
}

func (t *Tree) parent() int { return (t.self - 1) / Arity }

func (t *Tree) child(i int) int { return t.self*Arity + 1 + i }

// below returns the number of nodes in the subtree of a node, including the node.
func (t *Tree) below(node int) int {
	n := 0
	for first, last := node, node; first < t.nodes; first, last = first*Arity+1, last*Arity+Arity {
		n += min(last, t.nodes-1) - first + 1
	}
	return n
}

// Add implements Collective.
func (t *Tree) Add(op Op, data []byte) []Effect {
	t.effects = t.effects[:0]
	if t.failed != nil {
		// Report it again, since the ranks of this node wait, too.
		t.emit(Effect{Kind: Failed, Err: t.failed})
		return t.effects
	}
	x, ok := t.exchange(op)
	if !ok || op.Seq == 0 || x.phase != outside || x.known && op.Seq != x.seq+1 {
		t.fail(fmt.Errorf("%w: this node adds to %v out of turn", ErrProtocol, op))
		return t.effects
	}
	x.phase, x.seq, x.known, x.own = gathering, op.Seq, true, data
	if i := t.ahead(x); i >= 0 {
		t.fail(fmt.Errorf("%w: node %d is in %v, this node in %v", ErrProtocol, t.child(i), Op{op.Kind, x.pieces[i].seq}, op))
		return t.effects
	}
	early := x.early
	x.early = held{}
	if early.seq > 0 {
		x.last = early
	}
	switch {
	case early.seq == op.Seq:
		t.finish(x, op, early.data)
	case early.seq > op.Seq:
		t.fail(fmt.Errorf("%w: %v is over, and this node adds to %v", ErrProtocol, Op{op.Kind, early.seq}, op))
	default:
		t.gather(x, op)
	}
	return t.effects
}

// ahead returns a child that is in a later exchange than this node's piece allows, or -1. Its piece
// came while this node did not know its own exchange, and replaced the right one.
func (t *Tree) ahead(x *exchange) int {
	return slices.IndexFunc(x.pieces[:t.children], func(p held) bool { return p.seq > x.seq+1 })
}

// Receive implements Collective.
func (t *Tree) Receive(from int, message Message) []Effect {
	t.effects = t.effects[:0]
	if t.failed != nil {
		return nil
	}
	x, ok := t.exchange(message.Op)
	_, isChild := t.childIndex(from)
	isParent := t.self > 0 && from == t.parent()
	switch {
	case !ok:
		t.fail(fmt.Errorf("%w: node %d sends kind %d", ErrProtocol, from, message.Op.Kind))
	case !isChild && !isParent:
		t.fail(fmt.Errorf("%w: node %d is no neighbour of node %d", ErrProtocol, from, t.self))
	case message.Via != TreeAlgorithm:
		t.fail(fmt.Errorf("%w: node %d sends a message of %v into a tree", ErrProtocol, from, message.Via))
	case message.Op.Seq == 0:
		t.fail(fmt.Errorf("%w: node %d sends exchange 0", ErrProtocol, from))
	case bytesOf(message.Data) > MaxBytes:
		t.fail(fmt.Errorf("%w: %d bytes, the most is %d", ErrTooLarge, bytesOf(message.Data), MaxBytes))
	case t.isOld(x, message.Op.Seq):
	case message.Step == Up && isChild:
		t.receiveUp(x, from, message)
	case message.Step == Down:
		t.receiveDown(x, from, message)
	default:
		t.fail(fmt.Errorf("%w: node %d sends step %d to node %d", ErrProtocol, from, message.Step, t.self))
	}
	return t.effects
}

// isOld reports whether a message belongs to an exchange that is over here, so that it was repeated
// or overtaken.
func (t *Tree) isOld(x *exchange, seq uint64) bool {
	if x.phase == outside {
		return x.known && seq <= x.seq
	}
	return seq < x.seq
}

// receiveUp stores the pieces of a child. A child can only be in this node's present or next
// exchange, since it needed this node to get there.
func (t *Tree) receiveUp(x *exchange, from int, message Message) {
	op := message.Op
	if x.known && op.Seq > x.seq+1 {
		t.fail(fmt.Errorf("%w: node %d is in %v, this node in exchange %d", ErrProtocol, from, op, x.seq))
		return
	}
	i, _ := t.childIndex(from)
	if op.Seq < x.pieces[i].seq {
		return
	}
	if want := t.below(from); len(message.Data) != want {
		t.fail(fmt.Errorf("%w: node %d sends the pieces of %d nodes, not of %d", ErrProtocol, from, len(message.Data), want))
		return
	}
	x.pieces[i] = hold(op.Seq, message.Data)
	if x.size() > MaxBytes {
		t.fail(fmt.Errorf("%w: more than %d bytes", ErrTooLarge, MaxBytes))
		return
	}
	if x.phase == gathering && op.Seq == x.seq {
		t.gather(x, op)
	}
}

// receiveDown handles the result of an exchange. No exchange ends without this node's piece, so if
// the node has not given it, it has restarted and forgotten that.
func (t *Tree) receiveDown(x *exchange, from int, message Message) {
	op := message.Op
	switch {
	case len(message.Data) != t.nodes:
		t.fail(fmt.Errorf("%w: node %d ends %v with the pieces of %d nodes, not of %d", ErrProtocol, from, op, len(message.Data), t.nodes))
	case x.phase != outside && op.Seq == x.seq:
		t.finish(x, op, message.Data)
	case !x.known:
		t.onResult(x, op, message.Data)
	default:
		t.fail(fmt.Errorf("%w: node %d ends %v without node %d", ErrProtocol, from, op, t.self))
	}
}

// onResult handles a result on a node that does not know its present exchange. It forwards the
// result to the children, since this node may have restarted before it did.
func (t *Tree) onResult(x *exchange, op Op, all [][]byte) {
	if op.Seq <= x.early.seq {
		return
	}
	x.early = hold(op.Seq, all)
	for i := range t.children {
		t.send(t.child(i), op, Down, all)
	}
}

// gather sends the pieces of the subtree to the parent if none is missing.
func (t *Tree) gather(x *exchange, op Op) {
	for _, piece := range x.pieces[:t.children] {
		if piece.seq != op.Seq {
			return
		}
	}
	if x.size() > MaxBytes {
		t.fail(fmt.Errorf("%w: more than %d bytes", ErrTooLarge, MaxBytes))
		return
	}
	all := append(make([][]byte, 0, t.below(t.self)), x.own)
	for _, piece := range x.pieces[:t.children] {
		all = append(all, piece.data...)
	}
	if t.self == 0 {
		t.finish(x, op, all)
		return
	}
	x.phase, x.up = waiting, all
	t.send(t.parent(), op, Up, all)
}

// finish delivers the result to the children and to this node.
func (t *Tree) finish(x *exchange, op Op, all [][]byte) {
	for i := range t.children {
		t.send(t.child(i), op, Down, all)
		if x.pieces[i].seq <= op.Seq {
			x.pieces[i] = held{}
		}
	}
	t.emit(Effect{Kind: Done, Message: Message{Op: op, Via: TreeAlgorithm, Data: all}})
	x.phase, x.own, x.up = outside, nil, nil
	x.last = hold(op.Seq, all)
}

// Repeat implements Collective.
func (t *Tree) Repeat(to int) []Effect {
	t.effects = t.effects[:0]
	_, isChild := t.childIndex(to)
	isParent := t.self > 0 && to == t.parent()
	if t.failed != nil || !isChild && !isParent {
		return nil
	}
	for kind := range t.exchanges {
		x := &t.exchanges[kind]
		if x.last.seq > 0 {
			t.send(to, Op{Kind(kind), x.last.seq}, Down, x.last.data)
		}
		if isParent && x.phase == waiting {
			t.send(to, Op{Kind(kind), x.seq}, Up, x.up)
		}
	}
	return t.effects
}

// Neighbours implements Collective.
func (t *Tree) Neighbours() []int {
	var nodes []int
	if t.self > 0 {
		nodes = append(nodes, t.parent())
	}
	for i := range t.children {
		nodes = append(nodes, t.child(i))
	}
	return nodes
}

// Lost implements Collective. The loss of any node ends the exchanges, even if the node has already
// given its piece, since it cannot get the result.
func (t *Tree) Lost(node int, reason string) []Effect {
	t.effects = t.effects[:0]
	if t.failed == nil && node != t.self && node >= 0 && node < t.nodes {
		t.fail(lostError(node, reason))
	}
	return t.effects
}

// fail ends all exchanges and drops their data.
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

func (t *Tree) childIndex(node int) (i int, ok bool) {
	i = node - t.child(0)
	return i, i >= 0 && i < t.children
}

func (t *Tree) send(to int, op Op, step Step, data [][]byte) {
	t.emit(Effect{Kind: Send, To: to, Message: Message{Op: op, Via: TreeAlgorithm, Step: step, Data: data}})
}

func (t *Tree) emit(effect Effect) { t.effects = append(t.effects, effect) }
