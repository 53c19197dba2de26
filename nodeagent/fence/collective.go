package fence

import (
	"errors"
	"fmt"
)

// Collective is an algorithm for exchanges between the nodes 0..n-1 of one job, in which all nodes
// take part. An exchange is identified by its kind and its number. Exchanges of one kind are
// numbered 1, 2, 3 ... and a node adds to one only when the one before is done on it; the numbers
// keep consecutive ones apart.
//
// A carrier that restarts and forgets its Collective makes a new one, adds its
// node's piece again if no result has come for it, and has the others Repeat to
// it. A new Collective takes the number of the first piece that its own node
// adds for the current one. So exchanges survive one restart at a time, if
// carriers deliver what was sent for an exchange before they act on its Done.
//
// The effects of a call are valid until the next call. The data in them is
// valid for longer and must not be changed; data that goes in is kept and must
// not be changed either.
type Collective interface {
	// Add gives this node's piece to an exchange.
	Add(op Op, data []byte) []Effect
	// Receive takes a message of another node. Repeated delivery is harmless.
	Receive(from int, message Message) []Effect
	// Repeat sends again what a node that has restarted may have forgotten.
	Repeat(to int) []Effect
	// Neighbours are the nodes that messages come from.
	Neighbours() []int
	// Lost ends all exchanges: node will not answer any more.
	Lost(node int, reason string) []Effect
}

// Kind separates independent sequences of exchanges of one job.
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

// Message is what one node sends another.
type Message struct {
	Op Op
	// Via is the algorithm that the message belongs to.
	Via  Algorithm
	Step Step
	// Data holds pieces of nodes; the algorithm knows which nodes.
	Data [][]byte
}

// EffectKind says what an Effect is.
type EffectKind uint8

const (
	// Send: carry Message to node To, in any order, once or more.
	Send EffectKind = iota + 1
	// Done: the exchange Message.Op is over; Message.Data holds the pieces of
	// all nodes, in no particular order.
	Done
	// Failed: no exchange of the job can complete any more, for the reason Err.
	Failed
	// Large (only of a SmallExchange): some piece is not small. Exchange Message.Op of all pieces
	// must be made by other means; this node's piece is Message.Data.
	Large
)

// Effect is something for the caller to do.
type Effect struct {
	Kind    EffectKind
	To      int
	Message Message
	Err     error
}

// MaxBytes bounds the data of one exchange, so that a node that lies cannot
// fill the memory of others. It is what a PMI engine takes.
const MaxBytes = 256 << 20

// bytesOf returns the size of pieces together.
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
	// ErrProtocol: a node sent what the algorithm does not allow.
	ErrProtocol = errors.New("a node broke the exchange protocol")
	// ErrTooLarge: the data is above MaxBytes.
	ErrTooLarge = errors.New("the data of an exchange is too large")
	// ErrAlgorithm: there is none of that name.
	ErrAlgorithm = errors.New("no such algorithm for exchanges")
	// ErrShape: a job cannot have such nodes.
	ErrShape = errors.New("no such node in the job")
)

var errNotAsLarge = fmt.Errorf("%w: a piece that is not as large as it says", ErrProtocol)

func tooLargeError(bytes int) error {
	return fmt.Errorf("%w: %d bytes, the most is %d", ErrTooLarge, bytes, MaxBytes)
}
