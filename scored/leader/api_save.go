package leader

import (
	"context"
	"score/scored/state"
)

// Saved is the committed state at one moment, with its cluster, and its leader's program and term.
type Saved struct {
	Image            *state.Image
	Cluster, Version string
	Term             uint64
}

// Save captures the state, with everything that was acknowledged before the call.
func (l *Leader) Save(ctx context.Context) (Saved, error) {
	return consult(ctx, l, func(c *controller, answer func(Saved, error)) {
		saved := Saved{Cluster: c.cluster, Version: c.version, Term: c.term}
		c.call(func(err error) {
			if err == nil {
				l.options.Replica.Read(func(s *state.State) { saved.Image = s.Image() })
			}
			answer(saved, err)
		})
	})
}
