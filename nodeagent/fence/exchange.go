package fence

// exchange is the state of a node in one sequence of exchanges:
//
//	outside --own piece--> gathering --the pieces of all children--> waiting
//	waiting, gathering --all pieces come, at the root: are here--> outside
//
// A result can come while the node still gathers: then its agent had restarted and forgotten
// pieces, and a neighbour repeats the result.
type exchange struct {
	phase phase
	// seq is the exchange that the node is in or, outside, the previous one. known is false until
	// the first own piece if the tree may have joined in the middle of a job; until then seq does
	// not identify old messages.
	seq   uint64
	known bool
	// own is this node's piece, up the pieces that it sent to its parent.
	own []byte
	up  [][]byte
	// pieces holds the latest pieces of each child. A child may be one exchange ahead of a node
	// that is outside or has restarted.
	pieces [Arity]held
	// early is a result that came before the node's own piece.
	early held
	// last is the latest result, for neighbours that have forgotten it.
	last held
}

// phase is the phase of an exchange on a node.
type phase uint8

const (
	// outside: this node has not given its piece.
	outside phase = iota
	// gathering: this node has given its piece, and the piece of a child is missing.
	gathering
	// waiting: the subtree's pieces are on their way up.
	waiting
)

// held is data of exchange seq; 0: none.
type held struct {
	seq  uint64
	data [][]byte
	// size is the total size of data.
	size int
}

func hold(seq uint64, data [][]byte) held { return held{seq, data, bytesOf(data)} }

// size returns the total size of the subtree's pieces.
func (x *exchange) size() int {
	size := len(x.own)
	for i := range x.pieces {
		size += x.pieces[i].size
	}
	return size
}
