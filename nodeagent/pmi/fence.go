package pmi

import "fmt"

// fenceState is the collective that the ranks are in, or the next one.
type fenceState struct {
	// seq numbers the collectives of the job from 1, so that the data of
	// consecutive ones cannot mix.
	seq uint64
	// kind is the kind of the first arrival; arrived counts the ranks here that
	// are inside.
	kind    blockKind
	arrived int
	// exchanging is set while the fence waits for the other nodes' data.
	exchanging bool
	// collect is set if a rank here asks for an exchange of data (kindCards).
	collect bool
	// ending is the reason why there will be no fence after the fence last; empty if there will.
	ending string
	last   uint64
	// broken is the reason why fences of all ranks have become impossible; empty if they have not.
	broken string
	// size is the size of this node's last contribution, a good guess for the next.
	size int
}

// blockKind is the kind of a collective, also on the wire between nodes.
type blockKind uint8

const (
	// kindFence exchanges the keys put since the last one. It is also the
	// barrier of PMI-1.
	kindFence blockKind = 1
	// kindRing exchanges ring values; keys stay staged.
	kindRing blockKind = 2
	// kindCards exchanges the keys that ranks have committed for other nodes since the last
	// exchange, if a rank of the node asks for that. It is the fence of PMIx.
	kindCards blockKind = 3
)

func (k blockKind) String() string {
	switch k {
	case kindFence:
		return "a fence"
	case kindRing:
		return "a ring"
	case kindCards:
		return "a PMIx fence"
	}
	return fmt.Sprintf("collective %d", uint8(k))
}

// FenceIn brings a rank into the fence (PMI-1 barrier_in, PMI-2 kvs-fence). EventReleased answers
// when every rank of the job is in the fence.
func (e *Engine) FenceIn(rank int, tag Tag) error {
	return e.arrive(rank, tag, kindFence, Ring{})
}

// RingIn brings a rank into a ring (Slurm's PMIX_Ring); EventRing answers.
func (e *Engine) RingIn(rank int, tag Tag, ring Ring) error {
	if len(ring.Left) > MaxValue || len(ring.Right) > MaxValue {
		return fmt.Errorf("%w: a ring value above %d bytes", ErrTooLong, MaxValue)
	}
	return e.arrive(rank, tag, kindRing, ring)
}

func (e *Engine) arrive(rank int, tag Tag, kind blockKind, ring Ring) error {
	s, f := e.state(rank), &e.fence
	switch {
	case s.inFence:
		return fmt.Errorf("%w: a second fence before the first was answered", ErrOrder)
	case f.broken != "":
		e.emit(Event{Kind: EventReleased, Rank: rank, Tag: tag, Outcome: Missing, Value: f.broken})
		return nil
	case e.departed > 0 && !e.hasFailed():
		return fmt.Errorf("%w: %s that rank %d can no longer join", ErrOrder, kind, e.firstDeparted())
	case f.arrived == 0:
		f.kind = kind
	case f.kind != kind:
		return fmt.Errorf("%w: %s while rank %d is in %s", ErrOrder, kind, e.firstInFence(), f.kind)
	}
	s.inFence, s.fenceTag, s.ring = true, tag, ring
	f.arrived++
	return e.maybeContribute()
}

// contribute emits this node's data after its last rank has entered the fence. A job of one node
// exchanges nothing.
func (e *Engine) contribute() error {
	f := &e.fence
	f.exchanging = true
	if e.nodes == 1 && f.kind != kindRing {
		if f.kind == kindFence {
			e.commitOwn()
		}
		return e.complete(nil)
	}
	data := e.appendBlock(make([]byte, 0, f.size+maxHeader))
	f.size = len(data)
	if len(data) > MaxJobBytes {
		return fmt.Errorf("%w: this node puts %d bytes into one fence, the most is %d", ErrFull, len(data), MaxJobBytes)
	}
	if e.nodes == 1 {
		return e.FenceDone(f.seq, data)
	}
	e.emit(Event{Kind: EventFenceReady, Seq: f.seq, Data: data})
	return nil
}

// commitOwn makes the staged keys of the ranks here visible without an exchange.
func (e *Engine) commitOwn() {
	for i, rank := range e.local {
		s := &e.ranks[i]
		if !s.inFence {
			continue
		}
		for _, key := range s.staged {
			e.store.commit(int32(rank), key, e.store.sets[setKey{int32(rank), ScopeGlobal, key}].staged, e.fence.seq)
		}
	}
}

// FenceDone ends fence seq with the data of all nodes, including this one, in any order. It does
// not keep data. The error wraps ErrExchange or ErrFull; the job must end then.
func (e *Engine) FenceDone(seq uint64, data []byte) error {
	f := &e.fence
	if seq < f.seq || f.broken != "" {
		// A repeated delivery of a fence that is over does no harm.
		return nil
	}
	if seq > f.seq || !f.exchanging {
		return fmt.Errorf("%w: the end of fence %d, but this node is in fence %d", ErrExchange, seq, f.seq)
	}
	if len(data) > MaxJobBytes {
		return fmt.Errorf("%w: a fence of %d bytes, the most is %d", ErrFull, len(data), MaxJobBytes)
	}
	// One copy holds all values: they become substrings of it.
	exchange := exchange{engine: e, text: string(data)}
	if err := exchange.decode(); err != nil {
		return err
	}
	return e.complete(exchange.rings)
}

// complete releases all ranks and opens the next fence.
func (e *Engine) complete(rings []Ring) error {
	f := &e.fence
	if e.store.bytes > MaxJobBytes {
		return fmt.Errorf("%w: the job stores %d bytes, the most is %d", ErrFull, e.store.bytes, MaxJobBytes)
	}
	if err := e.published(); err != nil {
		return err
	}
	for i, rank := range e.local {
		s := &e.ranks[i]
		if !s.inFence { // lost, or started again meanwhile
			continue
		}
		s.inFence = false
		if f.kind == kindRing {
			e.emit(Event{Kind: EventRing, Rank: rank, Tag: s.fenceTag, Ring: ringOf(rings, rank)})
			continue
		}
		s.exchanged(f)
		e.emit(Event{Kind: EventReleased, Rank: rank, Tag: s.fenceTag})
	}
	f.seq++
	f.arrived, f.exchanging, f.collect = 0, false, false
	e.stats.Fences++
	e.maybeEnd()
	return nil
}

// ringOf returns a rank's answer from a ring: the sum of the weights before it, the right value of
// its left neighbour and the left value of its right neighbour.
func ringOf(rings []Ring, rank int) Ring {
	n := len(rings)
	answer := Ring{Left: rings[(rank+n-1)%n].Right, Right: rings[(rank+1)%n].Left}
	for _, before := range rings[:rank] {
		answer.Count += before.Count
	}
	return answer
}

func (e *Engine) firstInFence() int {
	for i := range e.ranks {
		if e.ranks[i].inFence {
			return e.local[i]
		}
	}
	return -1
}

// hasFailed reports whether a rank here has failed, which ends the job, with a better reason than
// that the others have entered a fence without it. Until then they wait in it.
func (e *Engine) hasFailed() bool {
	for i := range e.ranks {
		if s := &e.ranks[i]; s.gone && !s.survives && s.phase == PhaseActive {
			return true
		}
	}
	return false
}

func (e *Engine) firstDeparted() int {
	for i := range e.ranks {
		if s := &e.ranks[i]; s.gone && !s.survives || s.phase == PhaseFinalized {
			return e.local[i]
		}
	}
	return -1
}
