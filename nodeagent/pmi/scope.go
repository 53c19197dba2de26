package pmi

import (
	"fmt"
	"time"
)

// Scope is the set of ranks that may see a key.
type Scope uint8

const (
	// ScopeGlobal: every rank. Keys of PMI-1 and PMI-2 are.
	ScopeGlobal Scope = iota
	// ScopeNode: ranks of the owner's node.
	ScopeNode
	// ScopeRemote: ranks of other nodes.
	ScopeRemote
	// ScopeProcess: the owner alone.
	ScopeProcess
)

// Protocol is the protocol that a rank speaks.
type Protocol uint8

// The protocols over one engine. ProtocolPMI is PMI-1 and PMI-2, which begin alike; ProtocolKeys is
// the protocol of programs with package pm/keys.
const (
	ProtocolPMI Protocol = iota + 1
	ProtocolPMIx
	ProtocolKeys
)

func (p Protocol) String() string {
	switch p {
	case ProtocolPMI:
	case ProtocolPMIx:
		return "PMIx"
	case ProtocolKeys:
		return "score's own keys"
	}
	return "PMI"
}

// SetProtocol records the protocol of a rank. All ranks of a job must use the same, since ranks of
// two protocols cannot meet in a fence.
func (e *Engine) SetProtocol(rank int, p Protocol) error {
	if e.protocol == 0 {
		e.protocol = p
	}
	if e.protocol != p {
		return fmt.Errorf("%w: rank %d speaks %s and another rank of the job %s; all ranks must use the same MPI", ErrOrder, rank, p, e.protocol)
	}
	return nil
}

// Protocol returns the protocol of the ranks here, 0 before the first has spoken.
func (e *Engine) Protocol() Protocol { return e.protocol }

// card lists the keys that a rank has committed by scope (MPI's "business card"); the values are in
// the store's sets.
type card struct {
	keys []setKey
	// committed is set once the owner, a rank of this node, has committed.
	committed bool
}

// commitScoped stores a value of a card.
func (s *store) commitScoped(rank int32, scope Scope, key, value string) {
	c := s.card(rank)
	at := setKey{rank, scope, key}
	if s.store(at, value) {
		c.keys = append(c.keys, at)
	}
}

func (s *store) card(rank int32) *card {
	c := s.cards[rank]
	if c == nil {
		c = &card{}
		s.cards[rank] = c
	}
	return c
}

// visible returns the value of a rank's key as another rank sees it: of the same node (ScopeNode)
// or of another one (ScopeRemote).
func (s *store) visible(rank int32, key string, from Scope) (string, bool) {
	for _, scope := range [...]Scope{from, ScopeGlobal} {
		if entry := s.sets[setKey{rank, scope, key}]; entry.isCommitted {
			return entry.committed, true
		}
	}
	return "", false
}

// Commit stores a value of a rank of this node; the ranks in the scope see it at once. The error
// wraps ErrTooLong or ErrFull.
func (e *Engine) Commit(rank int, scope Scope, key, value string) error {
	switch {
	case key == "":
		return fmt.Errorf("%w: an empty key", ErrMalformed)
	case len(key) > MaxCardKey:
		return fmt.Errorf("%w: a key of %d bytes, the most is %d", ErrTooLong, len(key), MaxCardKey)
	}
	s := e.state(rank)
	at := setKey{int32(rank), scope, key}
	old := e.store.sets[at]
	if err := s.account(rank, !old.isCommitted, len(key), len(value)-len(old.committed)); err != nil {
		return err
	}
	e.store.commitScoped(int32(rank), scope, key, value)
	if e.store.bytes > MaxJobBytes {
		return fmt.Errorf("%w: the job stores %d bytes, the most is %d", ErrFull, e.store.bytes, MaxJobBytes)
	}
	if err := e.published(); err != nil {
		return err
	}
	if (scope == ScopeRemote || scope == ScopeGlobal) && e.nodes > 1 && !s.isFresh[key] {
		if s.isFresh == nil {
			s.isFresh = make(map[string]bool)
		}
		s.isFresh[key] = true
		s.fresh = append(s.fresh, key)
	}
	return nil
}

// Committed ends a rank's commit, and answers the fetches that wait for its keys.
func (e *Engine) Committed(now time.Time, rank int) {
	e.store.card(int32(rank)).committed = true
	e.onCommitted(now, rank)
}

// exchanged records that the rank's keys were sent with a fence.
func (s *rankState) exchanged(f *fenceState) {
	clear(s.staged)
	s.staged = s.staged[:0]
	if f.kind == kindCards && f.collect {
		clear(s.fresh)
		s.fresh = s.fresh[:0]
		clear(s.isFresh)
	}
}

// Card returns the known keys of a rank of this job, as another rank of this node sees them.
func (e *Engine) Card(of int) []KV { return e.cardSeen(of, e.seenFrom(of)) }

// seenFrom returns the scope of the keys that ranks of this node see of a rank, beside ScopeGlobal.
func (e *Engine) seenFrom(of int) Scope {
	if e.isLocal(of) {
		return ScopeNode
	}
	return ScopeRemote
}

// cardSeen is like Card, for a reader as in visible.
func (e *Engine) cardSeen(of int, from Scope) []KV {
	c := e.store.cards[int32(of)]
	if c == nil {
		return nil
	}
	pairs := make([]KV, 0, len(c.keys))
	for _, at := range c.keys {
		if at.scope == from || at.scope == ScopeGlobal {
			pairs = append(pairs, KV{at.key, e.store.sets[at].committed})
		}
	}
	return pairs
}

func (e *Engine) isLocal(rank int) bool { return int(e.info.RankNode[rank]) == e.info.NodeIndex }

// CollectIn brings a rank into the fence of PMIx; collect asks that the committed keys be sent to
// the other nodes.
func (e *Engine) CollectIn(rank int, tag Tag, collect bool) error {
	if err := e.arriveFirst(rank, collect); err != nil {
		return err
	}
	return e.arrive(rank, tag, kindCards, Ring{})
}

func (e *Engine) arriveFirst(rank int, collect bool) error {
	if e.state(rank).inFence {
		return fmt.Errorf("%w: a second fence of all ranks before the first was answered", ErrOrder)
	}
	e.fence.collect = e.fence.collect || collect
	return nil
}
