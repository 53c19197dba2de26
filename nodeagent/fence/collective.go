package fence

import (
	"errors"
	"fmt"
)

// Collective is an algorithm for exchanges between all nodes 0..n-1 of one job. An exchange is
// identified by its kind and its number. Exchanges of one kind are numbered 1, 2, 3 ..., and a node
// adds its piece to an exchange only after the previous one is done on it. The numbers separate
// consecutive exchanges.
//
// A carrier that restarts and forgets its Collective makes a new one, adds its node's piece again
// if no result has come for it, and asks the other nodes to Repeat. A new Collective takes the
// number of its own node's first piece as the current one. So exchanges survive one restart at a
// time, if carriers deliver the messages of an exchange before they act on its Done.
//
// The effects of a call are valid until the next call. Their data is valid for longer and must not
// be changed. Input data is kept and must not be changed either.
type Collective interface {
	// Add gives this node's piece to an exchange.
	Add(op Op, data []byte) []Effect
	// Receive handles a message of another node. Repeated delivery is harmless.
	Receive(from int, message Message) []Effect
	// Repeat sends again the messages that a restarted node may have forgotten.
	Repeat(to int) []Effect
	// Neighbours returns the nodes that messages come from.
	Neighbours() []int
	// Lost ends all exchanges, because node will not answer any more.
	Lost(node int, reason string) []Effect
}

// Kind identifies one of the independent sequences of exchanges of a job.
type Kind uint8

const (
	// KindFence is the fence of PMI.
	KindFence Kind = iota
	// kinds is the number of sequences.
	kinds
)

// Op names one exchange of a job.
type Op struct {
	Kind Kind
	Seq  uint64
}

func (op Op) String() string { return fmt.Sprintf("exchange %d", op.Seq) }

// Step is the algorithm's meaning of a message; carriers ignore it.
type Step uint32

// Message is a message from one node to another.
type Message struct {
	Op Op
	// Via is the algorithm that the message belongs to.
	Via  Algorithm
	Step Step
	// Data holds pieces of nodes; the algorithm and the step determine which nodes.
	Data [][]byte
}

// EffectKind is the kind of an Effect.
type EffectKind uint8

const (
	// Send: carry Message to node To, in any order, once or more.
	Send EffectKind = iota + 1
	// Done: the exchange Message.Op is over; Message.Data holds the pieces of
	// all nodes, in no particular order.
	Done
	// Failed: no exchange of the job can complete any more, for the reason Err.
	Failed
	// Large (only from a SmallExchange): a piece is not small. The caller must make exchange
	// Message.Op by other means; this node's piece is Message.Data.
	Large
)

// Effect is a task for the caller.
type Effect struct {
	Kind    EffectKind
	To      int
	Message Message
	Err     error
}

// MaxBytes bounds the data of one exchange, so that a hostile node cannot fill the memory of
// others. It is the bound of a PMI engine.
const MaxBytes = 256 << 20

// bytesOf returns the total size of pieces.
func bytesOf(pieces [][]byte) int {
	size := 0
	for _, piece := range pieces {
		size += len(piece)
	}
	return size
}

// Errors that end the exchanges of a job.
var (
	// ErrLost: a node of the job is gone.
	ErrLost = errors.New("a node of the job was lost during an exchange")
	// ErrProtocol: a node sent a message that the algorithm does not allow.
	ErrProtocol = errors.New("a node broke the exchange protocol")
	// ErrTooLarge: the data is above MaxBytes.
	ErrTooLarge = errors.New("the data of an exchange is too large")
	// ErrAlgorithm: there is no such algorithm.
	ErrAlgorithm = errors.New("no such algorithm for exchanges")
	// ErrShape: a job cannot have such nodes.
	ErrShape = errors.New("no such node in the job")
)

var errNotAsLarge = fmt.Errorf("%w: a piece of another size than was announced", ErrProtocol)

func tooLargeError(bytes int) error {
	return fmt.Errorf("%w: %d bytes, the most is %d", ErrTooLarge, bytes, MaxBytes)
}
