package leader

import (
	"context"
	"sync/atomic"
	"time"
)

// leaderWait is how long a caller waits for a server that leads: longer than an
// election takes, short for a person at a terminal.
const leaderWait = 10 * time.Second

// do hands an input to the brain.
func (l *Leader) do(ctx context.Context, input func(*brain)) error {
	select {
	case l.inputs <- input:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-l.stopped:
		return ErrStopped
	}
}

// offer hands an input to the brain and waits until the brain takes it, which
// it does only while this server leads. After an error it never will: nothing is
// done of which the caller was told that it was not.
func (l *Leader) offer(ctx context.Context, input func(*brain)) error {
	ctx, cancel := context.WithTimeoutCause(ctx, leaderWait, ErrNoLeader)
	defer cancel()
	var settled atomic.Bool // by the brain, or by a caller who has given up
	taken := make(chan struct{})
	err := l.do(ctx, func(b *brain) {
		if settled.CompareAndSwap(false, true) {
			close(taken)
			input(b)
		}
	})
	if err != nil {
		return err
	}
	select {
	case <-taken:
		return nil
	case <-ctx.Done():
		err = context.Cause(ctx)
	case <-l.stopped:
		err = ErrStopped
	}
	if settled.CompareAndSwap(false, true) {
		return err
	}
	return nil // it was taken at the last moment
}

// consult hands an input to the brain and waits for its answer.
func consult[T any](ctx context.Context, l *Leader, input func(b *brain, answer func(T, error))) (T, error) {
	type reply struct {
		value T
		err   error
	}
	replies := make(chan reply, 1)
	answer := func(value T, err error) { replies <- reply{value, err} }
	var zero T
	if err := l.offer(ctx, func(b *brain) { input(b, answer) }); err != nil {
		return zero, err
	}
	select {
	case r := <-replies:
		return r.value, r.err
	case <-ctx.Done():
		return zero, ctx.Err()
	case <-l.stopped:
		select {
		case r := <-replies: // answered at the last moment
			return r.value, r.err
		default:
			return zero, ErrStopped
		}
	}
}
