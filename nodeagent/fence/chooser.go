package fence

import "fmt"

// Chooser exchanges small pieces and the sizes of all pieces by the tree. Then each node knows all
// sizes, and all choose the same algorithm for the data.
//
//	outside --own piece--> telling --all sizes--> gathering --all pieces--> outside
//	                          \--all pieces were small----------------------/
//
// So an exchange without data always uses the tree alone, and no node need know the size of the
// data beforehand.
type Chooser struct {
	announcer
	// forced is the algorithm for data; Auto chooses by size.
	forced Algorithm
	tree   *Tree
	data   [algorithms]Collective
	// own holds this node's pieces of exchanges under way.
	own     [kinds][]byte
	failed  error
	effects []Effect
}

var _ Collective = (*Chooser)(nil)

// TreeBytes is the largest total size for which the tree is the fastest exchange. The other
// algorithms need an exchange of the sizes first (docs/BENCHMARKS.md, group pmi).
const TreeBytes = 64 << 10

// New returns node self's Chooser for a job of this many nodes. The error wraps ErrShape or
// ErrAlgorithm.
func New(nodes, self int, by Algorithm) (*Chooser, error) {
	tree, err := NewTree(nodes, self)
	if err != nil {
		return nil, err
	}
	c := &Chooser{forced: by, tree: tree}
	switch by {
	case Auto:
		c.small = max(empty, TreeBytes/nodes)
	case TreeAlgorithm:
		c.small = MaxBytes
	case RingAlgorithm, BruckAlgorithm:
		c.small = empty
	default:
		return nil, fmt.Errorf("%w: %v", ErrAlgorithm, by)
	}
	ring, err := newRing(nodes, self)
	if err != nil {
		return nil, err
	}
	bruck, err := newBruck(nodes, self)
	if err != nil {
		return nil, err
	}
	c.data[RingAlgorithm], c.data[BruckAlgorithm] = ring, bruck
	return c, nil
}

// choose returns the algorithm for data. A ring sends as many bytes as Bruck's algorithm in more
// messages, and is never faster if all nodes are equally far from each other.
func (c *Chooser) choose() Algorithm {
	if c.forced != Auto {
		return c.forced
	}
	return BruckAlgorithm
}

// Add implements Collective.
func (c *Chooser) Add(op Op, data []byte) []Effect {
	c.effects = c.effects[:0]
	if c.failed != nil {
		c.emit(Effect{Kind: Failed, Err: c.failed})
		return c.effects
	}
	switch {
	case op.Kind >= kinds:
		c.fail(fmt.Errorf("%w: this node adds to kind %d", ErrProtocol, op.Kind))
		return c.effects
	case len(data) > MaxBytes:
		c.fail(tooLargeError(len(data)))
		return c.effects
	}
	c.own[op.Kind] = data
	c.carryOut(c.tree.Add(op, c.announce(data)))
	return c.effects
}

// Receive implements Collective.
func (c *Chooser) Receive(from int, message Message) []Effect {
	c.effects = c.effects[:0]
	switch {
	case c.failed != nil:
	case message.Via == TreeAlgorithm:
		c.carryOut(c.tree.Receive(from, message))
	case message.Via < algorithms && c.data[message.Via] != nil:
		c.carryOut(c.data[message.Via].Receive(from, message))
	default:
		c.fail(fmt.Errorf("%w: node %d sends a message of %v", ErrProtocol, from, message.Via))
	}
	return c.effects
}

// carryOut forwards the effects of an algorithm, and handles its results.
func (c *Chooser) carryOut(effects []Effect) {
	for _, e := range effects {
		switch {
		case c.failed != nil:
			return
		case e.Kind == Failed:
			c.fail(e.Err)
		case e.Kind == Done && e.Message.Via == TreeAlgorithm:
			c.onAnnounced(e.Message)
		case e.Kind == Done:
			c.own[e.Message.Op.Kind] = nil
			c.emit(e)
		default:
			c.emit(e)
		}
	}
}

// onAnnounced handles the announcements of all nodes.
func (c *Chooser) onAnnounced(m Message) {
	pieces, whole, err := c.decode(m.Data)
	if err != nil {
		c.fail(err)
		return
	}
	own := c.own[m.Op.Kind]
	if whole {
		c.own[m.Op.Kind] = nil
		m.Data = pieces
		c.emit(Effect{Kind: Done, Message: m})
		return
	}
	c.carryOut(c.data[c.choose()].Add(m.Op, own))
}

// Repeat implements Collective.
func (c *Chooser) Repeat(to int) []Effect {
	c.effects = c.effects[:0]
	for _, part := range c.parts() {
		c.effects = append(c.effects, part.Repeat(to)...)
	}
	return c.effects
}

// Neighbours implements Collective.
func (c *Chooser) Neighbours() []int {
	var nodes []int
	has := make(map[int]bool)
	for _, part := range c.parts() {
		for _, node := range part.Neighbours() {
			if !has[node] {
				has[node] = true
				nodes = append(nodes, node)
			}
		}
	}
	return nodes
}

func (c *Chooser) parts() []Collective {
	if c.failed != nil {
		return nil
	}
	return []Collective{c.tree, c.data[RingAlgorithm], c.data[BruckAlgorithm]}
}

// Lost implements Collective.
func (c *Chooser) Lost(node int, reason string) []Effect {
	c.effects = c.effects[:0]
	if c.failed == nil {
		c.carryOut(c.tree.Lost(node, reason))
	}
	return c.effects
}

// fail ends all exchanges and drops their data.
func (c *Chooser) fail(err error) {
	c.failed = err
	c.tree, c.data, c.own = nil, [algorithms]Collective{}, [kinds][]byte{}
	c.emit(Effect{Kind: Failed, Err: err})
}

func (c *Chooser) emit(effect Effect) { c.effects = append(c.effects, effect) }
