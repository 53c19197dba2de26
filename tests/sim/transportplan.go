package sim

// transportPlan is what the transports of a job are like.
type transportPlan struct {
	room     int    // bytes of a socket for bulk datagrams
	frame    uint64 // longest one; 0: the path is too narrow, pieces go through the channel
	maxPiece uint64 // longest piece through the channel
	revokes  int    // permille of the turns in which memory is taken away that may be read
	busy     int    // permille of the bulk datagrams that the system does not take at once
}

// drawTransports draws what the transports of a job are like.
func drawTransports(r *rng) transportPlan {
	return transportPlan{
		room:     pick(r, 212_992, 425_984, 4<<20),
		frame:    pick[uint64](r, 0, 8<<10, 65_443, 65_443),
		maxPiece: pick[uint64](r, 32<<10, 65_536),
		revokes:  r.maybe(100),
		busy:     r.maybe(200),
	}
}

// drawOperation draws an operation, of 4 MiB in a quarter of the cases.
func (t *transport) drawOperation() *operation {
	others := make([]*transportPeer, 0, len(t.peers))
	for _, p := range t.peers {
		if p != nil {
			others = append(others, p)
		}
	}
	o := &operation{kind: operationKind(t.dice.below(int(operationKinds))), peer: pick(&t.dice, others...)}
	switch o.kind {
	case opSend, opFill, opPull:
		o.length = uint64(pick(&t.dice, 64<<10, t.dice.between(64<<10, 1<<20), 1<<20, 4<<20))
	case opPut, opGet, opWrong:
		o.length = uint64(t.dice.between(1, 200_000))
	default:
		o.length = 8
	}
	t.e.w.values++
	o.value = t.e.w.values
	return o
}
