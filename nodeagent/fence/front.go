package fence

import "fmt"

// SmallExchange exchanges small pieces by itself, with few hops, and says of which exchanges a piece was
// not small: those are for a carrier of much data, under numbers of their own. Its messages must
// arrive once each, in any order, and who carries them must not forget a SmallExchange: it has nothing to
// repeat.
//
//	outside --own piece--> telling --all sizes: one is large--> Large, outside
//	                          \--all pieces were small--> Done, outside
//
// All nodes learn the same sizes, so all say Large of the same exchanges and number them alike.
type SmallExchange struct {
	announcer
	way Collective
	// own are this node's pieces of exchanges that are under way, large the numbers of the last
	// ones that were.
	own     [kinds][]byte
	large   [kinds]uint64
	failed  error
	effects []Effect
}

// FewNodes is up to how many nodes Bruck's algorithm carries the small pieces, the tree beyond: a
// tree has two hops, up and down, which Bruck's algorithm does not exceed up to here.
const FewNodes = 4

// NewFront returns the front of a job of so many nodes as node self sees it. What the user wants to
// go by a certain algorithm is left to who has all of them. The error wraps ErrShape or
// ErrAlgorithm.
func NewFront(nodes, self int, by Algorithm) (*SmallExchange, error) {
	if by >= algorithms {
		return nil, fmt.Errorf("%w: %v", ErrAlgorithm, by)
	}
	var way Collective
	var err error
	if nodes <= FewNodes {
		way, err = NewBruck(nodes, self)
	} else {
		way, err = NewTree(nodes, self)
	}
	if err != nil {
		return nil, err
	}
	f := &SmallExchange{announcer: announcer{small: empty}, way: way}
	if by == Auto {
		f.small = max(empty, TreeBytes/nodes)
	}
	return f, nil
}

// Add gives this node's piece to an exchange.
func (f *SmallExchange) Add(op Op, data []byte) []Effect {
	f.effects = f.effects[:0]
	switch {
	case f.failed != nil:
		f.emit(Effect{Kind: Failed, Err: f.failed})
	case op.Kind >= kinds:
		f.fail(fmt.Errorf("%w: this node adds to kind %d", ErrProtocol, op.Kind))
	case len(data) > MaxBytes:
		f.fail(tooLargeError(len(data)))
	default:
		f.own[op.Kind] = data
		f.carryOut(f.way.Add(op, f.announce(data)))
	}
	return f.effects
}

// Receive takes a message of another node.
func (f *SmallExchange) Receive(from int, message Message) []Effect {
	f.effects = f.effects[:0]
	if f.failed == nil {
		f.carryOut(f.way.Receive(from, message))
	}
	return f.effects
}

// Lost ends all exchanges: node will not answer any more.
func (f *SmallExchange) Lost(node int, reason string) []Effect {
	f.effects = f.effects[:0]
	if f.failed == nil {
		f.carryOut(f.way.Lost(node, reason))
	}
	return f.effects
}

// Neighbours are the nodes that messages come from.
func (f *SmallExchange) Neighbours() []int {
	if f.failed != nil {
		return nil
	}
	return f.way.Neighbours()
}

// carryOut passes on what the algorithm wants, and takes its results.
func (f *SmallExchange) carryOut(effects []Effect) {
	for _, e := range effects {
		switch {
		case f.failed != nil:
			return
		case e.Kind == Failed:
			f.fail(e.Err)
		case e.Kind == Done:
			f.told(e.Message)
		default:
			f.emit(e)
		}
	}
}

// told takes the sizes of all pieces, or all pieces.
func (f *SmallExchange) told(m Message) {
	pieces, whole, err := f.announcer.told(m.Data)
	if err != nil {
		f.fail(err)
		return
	}
	own := f.own[m.Op.Kind]
	f.own[m.Op.Kind] = nil
	if whole {
		m.Data = pieces
		f.emit(Effect{Kind: Done, Message: m})
		return
	}
	f.large[m.Op.Kind]++
	f.emit(Effect{Kind: Large, Message: Message{Op: Op{Kind: m.Op.Kind, Seq: f.large[m.Op.Kind]}, Data: [][]byte{own}}})
}

// fail ends everything and lets go of the data.
func (f *SmallExchange) fail(err error) {
	f.failed = err
	f.way, f.own = nil, [kinds][]byte{}
	f.emit(Effect{Kind: Failed, Err: err})
}

func (f *SmallExchange) emit(effect Effect) { f.effects = append(f.effects, effect) }
