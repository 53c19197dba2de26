package socket

import (
	"context"
	"sync"
	"time"
)

// turn lets a call wait until few others of its party are being handled. The zero turn waits for
// nothing. A handler that forwards a call may read the request, and so take the turn, on another
// goroutine, and also after the call is over.
type turn struct {
	turns chan struct{} // has an element for each call that has its turn
	most  time.Duration // after which the turn is over although the call is not; 0: never

	mu    sync.Mutex
	taken bool
	over  bool
	timer *time.Timer
}

// turnOf returns the turn of a call.
func (l *limits) turnOf(has *load, procedure string) *turn {
	switch {
	case l.reads[procedure]:
		return &turn{} // those have turns of their own
	case l.waits[procedure]:
		return &turn{turns: has.turns, most: turnTime}
	}
	return &turn{turns: has.turns}
}

// take waits for the turn. The error is that of ctx.
func (t *turn) take(ctx context.Context) error {
	if t.turns == nil || !t.missing() {
		return nil
	}
	select {
	case t.turns <- struct{}{}:
		t.begin()
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// missing reports whether the call needs its turn and has not had it.
func (t *turn) missing() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return !t.taken && !t.over
}

func (t *turn) begin() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over {
		<-t.turns // nothing is handled any more
		return
	}
	t.taken = true
	if t.most > 0 {
		t.timer = time.AfterFunc(t.most, t.end)
	}
}

// end gives the turn back. It may be called again, and if the turn was not taken.
func (t *turn) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over {
		return
	}
	t.over = true
	if t.timer != nil {
		t.timer.Stop()
	}
	if t.taken {
		<-t.turns
	}
}
