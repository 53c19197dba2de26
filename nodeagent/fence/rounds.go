package fence

import (
	"fmt"
	"slices"
)

// Rounds is an exchange in rounds, by a ring or by Bruck's algorithm. The numbers of its exchanges
// must rise, but need not be consecutive.
//
//	outside --own piece, round 0 sent--> inside --round r came: round r+1 sent--> inside
//	inside --the last round came--> outside
//
// Messages come in any order. A message of a later round or exchange is kept until its turn.
type Rounds struct {
	nodes, self int
	via         Algorithm
	course      course
	runs        [kinds]run
	failed      error
	effects     []Effect
}

// run is the state of a node in one sequence of exchanges.
type run struct {
	// seq is the present exchange (inside), or the last one; 0: none.
	seq    uint64
	inside bool
	// pieces holds the pieces so far, by node; size is their total size. round is the first round
	// that has not come.
	pieces [][]byte
	round  int
	size   int
	early  early
	// last is the result of the latest completed exchange, for neighbours that have forgotten it.
	last held
}

var _ Collective = (*Rounds)(nil)

// newRing returns node self's ring for a job of this many nodes. The error wraps ErrShape.
func newRing(nodes, self int) (*Rounds, error) {
	return newRounds(nodes, self, RingAlgorithm, ring(nodes))
}

// newBruck returns node self's end of Bruck's algorithm for a job of this many nodes. The error
// wraps ErrShape.
func newBruck(nodes, self int) (*Rounds, error) {
	return newRounds(nodes, self, BruckAlgorithm, bruck(nodes))
}

func newRounds(nodes, self int, via Algorithm, c course) (*Rounds, error) {
	if nodes < 1 || self < 0 || self >= nodes {
		return nil, fmt.Errorf("%w: node %d of %d", ErrShape, self, nodes)
	}
	return &Rounds{nodes: nodes, self: self, via: via, course: c}, nil
}

// Add implements Collective.
func (m *Rounds) Add(op Op, data []byte) []Effect {
	m.effects = m.effects[:0]
	if m.failed != nil {
		// Report it again, since the ranks of this node wait, too.
		m.emit(Effect{Kind: Failed, Err: m.failed})
		return m.effects
	}
	if op.Kind >= kinds || op.Seq == 0 || m.runs[op.Kind].inside || op.Seq <= m.runs[op.Kind].seq {
		m.fail(fmt.Errorf("%w: this node adds to %v out of turn", ErrProtocol, op))
		return m.effects
	}
	x := &m.runs[op.Kind]
	x.seq, x.inside, x.round = op.Seq, true, 0
	x.pieces = make([][]byte, m.nodes)
	x.pieces[m.self] = data
	if x.size = len(data); x.size > MaxBytes {
		m.tooLarge()
		return m.effects
	}
	x.early.forget(op.Seq)
	m.advance(x, op)
	return m.effects
}

// Receive implements Collective.
func (m *Rounds) Receive(from int, message Message) []Effect {
	m.effects = m.effects[:0]
	if m.failed != nil {
		return nil
	}
	if err := m.check(from, &message); err != nil {
		m.fail(err)
		return m.effects
	}
	x, round := &m.runs[message.Op.Kind], int(message.Step)
	switch seq := message.Op.Seq; {
	case seq < x.seq, seq == x.seq && (!x.inside || round < x.round):
		// Repeated, or of a completed exchange.
	case seq == x.seq && round == x.round:
		m.take(x, round, message.Data)
		m.send(x, message.Op)
		m.advance(x, message.Op)
	default:
		// Two exchanges can be under way, each within its bound.
		if x.early.store(round, hold(seq, message.Data)); x.early.size > 2*MaxBytes {
			m.tooLarge()
		}
	}
	return m.effects
}

// check returns an error if the node may not send this message.
func (m *Rounds) check(from int, message *Message) error {
	round := int(message.Step)
	switch {
	case message.Op.Kind >= kinds:
		return fmt.Errorf("%w: node %d sends kind %d", ErrProtocol, from, message.Op.Kind)
	case message.Via != m.via:
		return fmt.Errorf("%w: node %d sends a message of %v into %v", ErrProtocol, from, message.Via, m.via)
	case message.Op.Seq == 0:
		return fmt.Errorf("%w: node %d sends exchange 0", ErrProtocol, from)
	case message.Step >= Step(m.course.rounds()) || m.course.from(m.self, round) != from:
		return fmt.Errorf("%w: node %d sends round %d of %v to node %d", ErrProtocol, from, message.Step, m.via, m.self)
	}
	if _, count := m.course.sent(from, round); len(message.Data) != count {
		return fmt.Errorf("%w: node %d sends %d pieces in round %d, not %d", ErrProtocol, from, len(message.Data), round, count)
	}
	if bytesOf(message.Data) > MaxBytes {
		return fmt.Errorf("%w: %d bytes, the most is %d", ErrTooLarge, bytesOf(message.Data), MaxBytes)
	}
	return nil
}

// take stores the pieces of the present round.
func (m *Rounds) take(x *run, round int, pieces [][]byte) {
	first, _ := m.course.sent(m.course.from(m.self, round), round)
	for i, piece := range pieces {
		x.pieces[(first+i)%m.nodes] = piece
		x.size += len(piece)
	}
	x.round++
}

// advance takes early messages whose turn has come, and ends the exchange after the last round.
func (m *Rounds) advance(x *run, op Op) {
	if x.round == 0 {
		m.send(x, op)
	}
	for x.round < m.course.rounds() {
		h, ok := x.early.take(x.round, op.Seq)
		if !ok {
			break
		}
		m.take(x, x.round, h.data)
		m.send(x, op)
	}
	switch {
	case x.size > MaxBytes:
		m.tooLarge()
	case x.round == m.course.rounds():
		x.inside = false
		x.last = held{op.Seq, x.pieces, x.size}
		x.pieces = nil
		m.emit(Effect{Kind: Done, Message: Message{Op: op, Via: m.via, Data: x.last.data}})
	}
}

// send sends the message of the present round, if any rounds are left.
func (m *Rounds) send(x *run, op Op) {
	if x.round < m.course.rounds() {
		m.sendRound(op, x.round, x.pieces)
	}
}

func (m *Rounds) sendRound(op Op, round int, pieces [][]byte) {
	first, count := m.course.sent(m.self, round)
	data := make([][]byte, count)
	for i := range data {
		data[i] = pieces[(first+i)%m.nodes]
	}
	message := Message{Op: op, Via: m.via, Step: Step(round), Data: data}
	m.emit(Effect{Kind: Send, To: m.course.to(m.self, round), Message: message})
}

// Repeat implements Collective.
func (m *Rounds) Repeat(to int) []Effect {
	m.effects = m.effects[:0]
	if m.failed != nil {
		return nil
	}
	for kind := range m.runs {
		x := &m.runs[kind]
		for round := range m.course.rounds() {
			if m.course.to(m.self, round) != to {
				continue
			}
			if x.last.seq > 0 {
				m.sendRound(Op{Kind(kind), x.last.seq}, round, x.last.data)
			}
			if x.inside && round <= x.round {
				m.sendRound(Op{Kind(kind), x.seq}, round, x.pieces)
			}
		}
	}
	return m.effects
}

// Neighbours implements Collective.
func (m *Rounds) Neighbours() []int {
	var nodes []int
	for round := range m.course.rounds() {
		if from := m.course.from(m.self, round); !slices.Contains(nodes, from) {
			nodes = append(nodes, from)
		}
	}
	return nodes
}

// Lost implements Collective.
func (m *Rounds) Lost(node int, reason string) []Effect {
	m.effects = m.effects[:0]
	if m.failed == nil && node != m.self && node >= 0 && node < m.nodes {
		m.fail(lostError(node, reason))
	}
	return m.effects
}

func lostError(node int, reason string) error {
	return fmt.Errorf("%w: node %d: %s", ErrLost, node, reason)
}

func (m *Rounds) tooLarge() {
	m.fail(fmt.Errorf("%w: more than %d bytes", ErrTooLarge, MaxBytes))
}

// fail ends all exchanges and drops their data and pending messages.
func (m *Rounds) fail(err error) {
	if m.failed != nil {
		return
	}
	m.failed = err
	m.runs = [kinds]run{}
	m.effects = m.effects[:0]
	m.emit(Effect{Kind: Failed, Err: err})
}

func (m *Rounds) emit(effect Effect) { m.effects = append(m.effects, effect) }
