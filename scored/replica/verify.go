package replica

import (
	"context"
	"slices"
	"sync"
	"time"
)

// rounds confirms with a majority that this replica leads, in rounds. Callers that come during a
// round share the next one.
type rounds struct {
	mu      sync.Mutex
	next    *round
	running bool
}

type round struct {
	over chan struct{}
	err  error // valid once over is closed
}

// Verify returns nil once a majority has confirmed, after the call, that this replica leads. The
// state read after that is no older than the call.
func (r *Replica) Verify(ctx context.Context) error {
	mine, begin := r.rounds.join()
	if begin && !r.spawn(r.verifyAll) {
		r.rounds.fail(ErrClosed)
	}
	select {
	case <-mine.over:
		return mine.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// join returns the next round, and reports whether the caller must start to run rounds.
func (s *rounds) join() (mine *round, begin bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.next == nil {
		s.next = &round{over: make(chan struct{})}
	}
	begin = !s.running
	s.running = true
	return s.next, begin
}

// startRound starts the next round; nil: no caller waits for one.
func (s *rounds) startRound() *round {
	s.mu.Lock()
	defer s.mu.Unlock()
	mine := s.next
	s.next = nil
	s.running = mine != nil
	return mine
}

func (s *rounds) fail(err error) {
	for mine := s.startRound(); mine != nil; mine = s.startRound() {
		mine.err = err
		close(mine.over)
	}
}

func (r *Replica) verifyAll() {
	for mine := r.rounds.startRound(); mine != nil; mine = r.rounds.startRound() {
		mine.err = r.verifyOnce()
		close(mine.over)
	}
}

func (r *Replica) verifyOnce() error {
	r.open.RLock()
	defer r.open.RUnlock()
	if r.closed {
		return ErrClosed
	}
	began := time.Now()
	for {
		// Raft also counts answers that were on their way, from replicas that may meanwhile follow
		// another leader. So repeat until a majority has answered calls made after the start.
		if err := r.raft.VerifyLeader().Error(); err != nil {
			return translateError(err)
		}
		list, err := r.Servers()
		if err != nil {
			return err
		}
		voters := slices.DeleteFunc(list, func(s Server) bool { return !s.Voter })
		if 1+r.transport.followed(voters, began) > len(voters)/2 {
			return nil
		}
	}
}

// spawn runs f on a goroutine, for which Close waits; false: the replica is closed.
func (r *Replica) spawn(f func()) bool {
	r.open.RLock()
	defer r.open.RUnlock()
	if r.closed {
		return false
	}
	r.verifying.Go(f)
	return true
}
