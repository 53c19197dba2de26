package stewardpool

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"
)

// remains is a slot that could not be removed. It is not used again before it is removed.
type remains struct {
	number int
	remove func(deadline time.Time) error
	err    error         // the first error of a removal
	gone   chan struct{} // closed once they are removed
}

func newRemains(number int, remove func(deadline time.Time) error) *remains {
	return &remains{number: number, remove: remove, gone: make(chan struct{})}
}

// discard removes a steward with its slot, and returns the remains that cannot be removed yet, nil
// if there are none.
func (p *Pool) discard(s *Steward) *remains {
	defer p.wake()
	err := s.destroy(time.Now().Add(closeWait))
	p.noteHung(s)
	if err == nil {
		p.free(s.Number)
		return nil
	}
	p.options.Logger.Warn("the container of a job cannot be removed yet", zap.Int("slot", s.Number), zap.Error(err))
	left := newRemains(s.Number, s.Container.Close)
	left.err = err
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stuck = append(p.stuck, left)
	return left
}

// retryStuck tries again to remove remains, and returns the time after which it must be called
// again; 0: there are none.
func (p *Pool) retryStuck() time.Duration {
	p.mu.Lock()
	stuck := slices.Clone(p.stuck)
	p.mu.Unlock()
	for _, r := range stuck {
		if err := r.remove(time.Now()); err == nil {
			p.options.Logger.Info("what was left in a slot is removed now", zap.Int("slot", r.number))
			p.onRemoved(r)
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.stuck) == 0 {
		return 0
	}
	return retryEvery
}

// removeStuck tries for the last time to remove remains. The error names those that stay.
func (p *Pool) removeStuck(deadline time.Time) (err error) {
	p.mu.Lock()
	stuck := p.stuck
	p.stuck = nil
	p.mu.Unlock()
	for _, r := range stuck {
		err = errors.Join(err, r.remove(deadline))
	}
	return err
}

// onRemoved frees the slot.
func (p *Pool) onRemoved(gone *remains) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stuck = slices.DeleteFunc(p.stuck, func(r *remains) bool { return r == gone })
	delete(p.used, gone.number)
	close(gone.gone)
}

// Problem returns a sentence about stewards that cannot be ended, and remains that could not be
// removed yet, "" if there are none.
func (p *Pool) Problem() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var problems []string
	if p.dropEnded(); len(p.hung) > 0 {
		problems = append(problems, fmt.Sprintf("%d stewards of jobs that have ended cannot be killed: a file system does not answer", len(p.hung)))
	}
	if len(p.stuck) > 0 {
		first := slices.MinFunc(p.stuck, func(a, b *remains) int { return a.number - b.number })
		problems = append(problems,
			fmt.Sprintf("%d of the node's control groups cannot be removed yet (%v); the agent tries again each second", len(p.stuck), first.err))
	}
	return strings.Join(problems, "; ")
}
