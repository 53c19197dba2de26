package fence

import "fmt"

// SmallExchange exchanges small pieces by itself, with few hops. It reports exchanges with a large
// piece (Large), which another carrier makes, under numbers of their own. Each of its messages must
// arrive exactly once, in any order. Its carrier must not lose a SmallExchange, since it cannot
// repeat messages.
//
//	outside --own piece--> telling --all sizes: one is large--> Large, outside
//	                          \--all pieces were small--> Done, outside
//
// All nodes learn the same sizes, so all report Large for the same exchanges and number them alike.
type SmallExchange struct {
	announcer
	way Collective
	// own holds this node's pieces of the present exchanges, large the numbers of the latest large
	// exchanges.
	own     [kinds][]byte
	large   [kinds]uint64
	failed  error
	effects []Effect
}

// FewNodes is the largest number of nodes for which Bruck's algorithm exchanges the small pieces.
// It has at most two hops for that many nodes, like the tree (up and down), which serves larger
// jobs.
const FewNodes = 4

// NewSmallExchange returns node self's SmallExchange for a job of this many nodes. If the user has
// chosen an algorithm, it leaves exchanges to a carrier with all algorithms. The error wraps
// ErrShape or ErrAlgorithm.
func NewSmallExchange(nodes, self int, by Algorithm) (*SmallExchange, error) {
	if by >= algorithms {
		return nil, fmt.Errorf("%w: %v", ErrAlgorithm, by)
	}
	var way Collective
	var err error
	if nodes <= FewNodes {
		way, err = newBruck(nodes, self)
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

// Add adds this node's piece to an exchange.
func (s *SmallExchange) Add(op Op, data []byte) []Effect {
	s.effects = s.effects[:0]
	switch {
	case s.failed != nil:
		s.emit(Effect{Kind: Failed, Err: s.failed})
	case op.Kind >= kinds:
		s.fail(fmt.Errorf("%w: this node adds to kind %d", ErrProtocol, op.Kind))
	case len(data) > MaxBytes:
		s.fail(tooLargeError(len(data)))
	default:
		s.own[op.Kind] = data
		s.carryOut(s.way.Add(op, s.announce(data)))
	}
	return s.effects
}

// Receive handles a message of another node.
func (s *SmallExchange) Receive(from int, message Message) []Effect {
	s.effects = s.effects[:0]
	if s.failed == nil {
		s.carryOut(s.way.Receive(from, message))
	}
	return s.effects
}

// Neighbours returns the nodes that messages come from.
func (s *SmallExchange) Neighbours() []int {
	if s.failed != nil {
		return nil
	}
	return s.way.Neighbours()
}

// carryOut forwards the algorithm's effects, and handles its results.
func (s *SmallExchange) carryOut(effects []Effect) {
	for _, e := range effects {
		switch {
		case s.failed != nil:
			return
		case e.Kind == Failed:
			s.fail(e.Err)
		case e.Kind == Done:
			s.onAnnounced(e.Message)
		default:
			s.emit(e)
		}
	}
}

// onAnnounced handles the announcements of all nodes.
func (s *SmallExchange) onAnnounced(m Message) {
	pieces, whole, err := s.decode(m.Data)
	if err != nil {
		s.fail(err)
		return
	}
	own := s.own[m.Op.Kind]
	s.own[m.Op.Kind] = nil
	if whole {
		m.Data = pieces
		s.emit(Effect{Kind: Done, Message: m})
		return
	}
	s.large[m.Op.Kind]++
	s.emit(Effect{Kind: Large, Message: Message{Op: Op{Kind: m.Op.Kind, Seq: s.large[m.Op.Kind]}, Data: [][]byte{own}}})
}

// fail ends all exchanges and drops their data.
func (s *SmallExchange) fail(err error) {
	s.failed = err
	s.way, s.own = nil, [kinds][]byte{}
	s.emit(Effect{Kind: Failed, Err: err})
}

func (s *SmallExchange) emit(effect Effect) { s.effects = append(s.effects, effect) }
