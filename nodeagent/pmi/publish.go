package pmi

import "fmt"

// Publisher takes what ranks of this node may see, each value when it may be seen.
type Publisher interface {
	Put(rank int, key, value string) error
	// Announce is called after what is made visible together.
	Announce()
}

// PublishTo has what ranks of this node may see published, all that there is at once. Later values
// that the publisher does not take are the error of the call that made them visible. The error
// wraps ErrFull.
func (e *Engine) PublishTo(p Publisher) error {
	e.store.publisher, e.store.isHere = p, func(rank int32) bool { return e.isLocal(int(rank)) }
	for at, entry := range e.store.sets {
		if entry.isCommitted {
			e.store.publish(at, entry.committed)
		}
	}
	return e.published()
}

// publish tells of a value that was committed. A value for this node alone goes before one for all.
func (s *store) publish(at setKey, value string) {
	if s.publisher == nil || s.unpublished != nil || at.rank < 0 {
		return
	}
	own, hidden := ScopeRemote, ScopeNode
	if s.isHere(at.rank) {
		own, hidden = ScopeNode, ScopeRemote
	}
	if at.scope == hidden || at.scope == ScopeProcess {
		return
	}
	if at.scope == ScopeGlobal && s.sets[setKey{at.rank, own, at.key}].isCommitted {
		return
	}
	s.unpublished = s.publisher.Put(int(at.rank), at.key, value)
}

// published announces what was, and reports whether all was.
func (e *Engine) published() error {
	if p := e.store.publisher; p != nil {
		p.Announce()
	}
	if err := e.store.unpublished; err != nil {
		return fmt.Errorf("%w: %w", ErrFull, err)
	}
	return nil
}
