package fence

import "slices"

// early holds messages that came too early: for each round those of the two latest exchanges. A
// sender may already be in the next exchange, and a node that does not know its own number cannot
// decide which of the two it needs.
type early struct {
	rounds map[int][2]held
	// size is the size of their data.
	size int
}

// store stores a message in place of an older one.
func (e *early) store(round int, h held) {
	two := e.rounds[round]
	older := 0
	if two[1].seq < two[0].seq {
		older = 1
	}
	if two[0].seq == h.seq || two[1].seq == h.seq || h.seq < two[older].seq {
		return
	}
	if e.rounds == nil {
		e.rounds = make(map[int][2]held)
	}
	e.size += h.size - two[older].size
	two[older] = h
	e.rounds[round] = two
}

// take removes and returns the message stored for a round of an exchange.
func (e *early) take(round int, seq uint64) (h held, ok bool) {
	two := e.rounds[round]
	i := slices.IndexFunc(two[:], func(h held) bool { return h.seq == seq })
	if i < 0 {
		return held{}, false
	}
	h = two[i]
	e.drop(round, two, i)
	return h, true
}

// forget drops messages of exchanges before the given one.
func (e *early) forget(before uint64) {
	for round := range e.rounds {
		for i, h := range e.rounds[round] {
			if h.seq > 0 && h.seq < before {
				e.drop(round, e.rounds[round], i)
			}
		}
	}
}

func (e *early) drop(round int, two [2]held, i int) {
	e.size -= two[i].size
	two[i] = held{}
	if two[1-i].seq == 0 {
		delete(e.rounds, round)
		return
	}
	e.rounds[round] = two
}
