package pmi

import "fmt"

// mappingKey is where PMI-1 clients look for the placement of the ranks.
const mappingKey = "PMI_process_mapping"

// hardwareKey is where MPICH looks for the path of hwloc's description of the hardware.
const hardwareKey = "PMI_hwloc_xmlfile"

// givenRank owns the keys that come with the job (JobInfo.Preput).
const givenRank = -1

// setKey names a value: a key in one scope of the key set of one rank.
type setKey struct {
	rank  int32
	scope Scope
	key   string
}

// entry holds the two states of a value: committed is visible to all ranks, staged was put by the
// owner since the last fence.
type entry struct {
	committed, staged     string
	isCommitted, isStaged bool
}

// owner identifies the rank whose value a key has in the space common to all ranks.
type owner struct {
	rank int32
	seq  uint64
}

// store holds the key sets of all ranks of the job, and the common space of
// PMI-1 and PMI-2 as an index into them.
type store struct {
	sets   map[setKey]entry
	common map[string]owner
	// cards lists the keys of each rank that commits by scope.
	cards map[int32]*card
	// bytes is the size of the committed keys and values, with entryCost for each pair.
	bytes int
	// publisher gets the values that ranks of this node may see; isHere reports whether a rank is
	// of this node; unpublished is the error with which it refused a value.
	publisher   Publisher
	isHere      func(rank int32) bool
	unpublished error
}

// entryCost is the memory that a pair takes beside its text, in bytes, so that many tiny pairs
// count in full.
const entryCost = 96

func newStore() store {
	return store{sets: make(map[setKey]entry), common: make(map[string]owner), cards: make(map[int32]*card)}
}

// setGiven stores a value that comes with the job.
func (s *store) setGiven(key, value string) { s.commit(givenRank, key, value, 0) }

// commit makes a value visible to all ranks. seq is the fence that brought it.
func (s *store) commit(rank int32, key, value string, seq uint64) {
	at := setKey{rank, ScopeGlobal, key}
	s.store(at, value)
	if has, ok := s.common[key]; !ok || seq > has.seq || rank > has.rank {
		s.common[key] = owner{rank, seq}
	}
}

// store keeps a committed value and counts it.
func (s *store) store(at setKey, value string) (isNew bool) {
	old := s.sets[at]
	if !old.isCommitted {
		s.bytes += len(at.key) + entryCost
	}
	s.bytes += len(value) - len(old.committed)
	s.sets[at] = entry{committed: value, isCommitted: true}
	s.publish(at, value)
	return !old.isCommitted
}

// committed returns the value of one rank's key as all ranks see it.
func (s *store) committed(rank int32, key []byte) (string, bool) {
	e := s.sets[setKey{rank, ScopeGlobal, string(key)}]
	return e.committed, e.isCommitted
}

// get returns the value that rank sees under key: its own first, then the value of rank src if the
// client names one, then the common value.
func (s *store) get(rank, src int32, key []byte) (string, bool) {
	if own := s.sets[setKey{rank, ScopeGlobal, string(key)}]; own.isStaged {
		return own.staged, true
	}
	if src >= 0 {
		if value, ok := s.committed(src, key); ok {
			return value, true
		}
	}
	who, ok := s.common[string(key)]
	if !ok {
		return "", false
	}
	return s.committed(who.rank, key)
}

// AnyRank is the source for a Get that does not know which rank put the key.
const AnyRank = -1

// Put stores a value in the rank's key set. It is visible to others after the
// next fence.
func (e *Engine) Put(rank int, key, value []byte) error {
	if err := checkPair(key, value); err != nil {
		return err
	}
	s := e.state(rank)
	at := setKey{int32(rank), ScopeGlobal, string(key)}
	old, has := e.store.sets[at]
	if err := s.account(rank, !has, len(key), len(value)-len(old.newest())); err != nil {
		return err
	}
	if !old.isStaged {
		s.staged = append(s.staged, at.key)
	}
	old.staged, old.isStaged = string(value), true
	e.store.sets[at] = old
	return nil
}

// Get returns the value that a rank sees under key. src is the rank that put
// it, or AnyRank.
func (e *Engine) Get(rank, src int, key []byte) (value string, ok bool) {
	if src < 0 || src >= e.Size() {
		src = AnyRank
	}
	return e.store.get(int32(rank), int32(src), key)
}

func (e *entry) newest() string {
	if e.isStaged {
		return e.staged
	}
	return e.committed
}

// account adds to the counts of a rank's stored keys and bytes.
func (s *rankState) account(rank int, isNew bool, key, grown int) error {
	keys, bytes := s.keys, s.bytes+grown
	if isNew {
		keys, bytes = keys+1, bytes+key
	}
	if keys > MaxRankKeys || bytes > MaxRankBytes {
		return fmt.Errorf("%w: rank %d stores %d keys and %d bytes, the most is %d and %d",
			ErrFull, rank, keys, bytes, MaxRankKeys, MaxRankBytes)
	}
	s.keys, s.bytes = keys, bytes
	return nil
}

func checkPair(key, value []byte) error {
	switch {
	case len(key) == 0:
		return fmt.Errorf("%w: an empty key", ErrMalformed)
	case len(key) > MaxKey:
		return fmt.Errorf("%w: a key of %d bytes, the most is %d", ErrTooLong, len(key), MaxKey)
	case len(value) > MaxValue:
		return fmt.Errorf("%w: a value of %d bytes, the most is %d", ErrTooLong, len(value), MaxValue)
	}
	return nil
}
