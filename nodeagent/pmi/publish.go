package pmi

import "fmt"

// Publisher gets each value that ranks of this node may see, when it becomes visible.
type Publisher interface {
	Put(rank int, key, value string) error
	// Announce is called after a group of values was made visible together.
	Announce()
}

// PublishTo publishes all values that ranks of this node may see, present and later ones. If the
// publisher refuses a later value, the call that made it visible fails. The error wraps ErrFull.
func (e *Engine) PublishTo(p Publisher) error {
	e.store.publisher, e.store.isHere = p, func(rank int32) bool { return e.isLocal(int(rank)) }
	for at, entry := range e.store.sets {
		if entry.isCommitted {
			e.store.publish(at, entry.committed)
		}
	}
	return e.published()
}

// publish passes a committed value to the publisher. A value for this node alone takes precedence
// over one for all.
func (s *store) publish(at setKey, value string) {
	if s.publisher == nil || s.unpublished != nil || at.rank < 0 {
		return
	}
	seen := ScopeRemote
	if s.isHere(at.rank) {
		seen = ScopeNode
	}
	if at.scope != seen && at.scope != ScopeGlobal {
		return
	}
	if at.scope == ScopeGlobal && s.sets[setKey{at.rank, seen, at.key}].isCommitted {
		return
	}
	s.unpublished = s.publisher.Put(int(at.rank), at.key, value)
}

// published announces the published values, and returns an error if the publisher refused one.
func (e *Engine) published() error {
	if p := e.store.publisher; p != nil {
		p.Announce()
	}
	if err := e.store.unpublished; err != nil {
		return fmt.Errorf("%w: %w", ErrFull, err)
	}
	return nil
}
