package wait

import (
	"context"
	"sync"
	"time"
)

// Turns bounds how much of a user's goes on at once where each part may never end: the next waits
// for its turn, and no other user's does. The zero Turns is not usable.
type Turns struct {
	most int

	mu    sync.Mutex
	users map[uint32]chan struct{} // has an element for each turn that is taken
}

// NewTurns returns Turns. A user has at most that many at once.
func NewTurns(most int) *Turns { return &Turns{most: most, users: make(map[uint32]chan struct{})} }

// Take waits for a turn of the user, for the timeout at most or until ctx ends. It returns nil if
// there was none; otherwise the caller calls release once, when what it does has ended.
func (t *Turns) Take(ctx context.Context, uid uint32, timeout time.Duration) (release func()) {
	taken := t.of(uid)
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	select {
	case taken <- struct{}{}:
		return func() { <-taken }
	case <-timer.C:
	case <-ctx.Done():
	}
	return nil
}

func (t *Turns) of(uid uint32) chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.users[uid] == nil {
		t.users[uid] = make(chan struct{}, t.most)
	}
	return t.users[uid]
}
