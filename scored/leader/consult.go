package leader

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"
)

// leaderWait is how long a caller waits for a leader: longer than an election takes, but short for
// a user at a terminal.
const leaderWait = 10 * time.Second

// do gives an input to the controller. It is dropped if another server leads.
func (l *Leader) do(ctx context.Context, input func(*controller)) error {
	return l.enqueue(ctx, func(c *controller) {
		if c != nil {
			input(c)
		}
	})
}

// post enqueues an input for the present controller; without one it is dropped.
func (l *Leader) post(input func(*controller)) {
	if l.deciding.Load() {
		// An error means that the leader has stopped, and with it all that the input concerns.
		_ = l.do(context.Background(), input)
	}
}

func (l *Leader) enqueue(ctx context.Context, input func(*controller)) error {
	select {
	case l.inputs <- input:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-l.stopped:
		return ErrStopped
	}
}

// Alive returns nil once the deciding goroutine has answered, whichever server leads.
func (l *Leader) Alive(ctx context.Context) error {
	select {
	case l.probes <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("the server's decisions stand still: %w", context.Cause(ctx))
	case <-l.stopped:
		return ErrStopped
	}
}

// offer waits until the controller takes the input, which it does only while this server leads. If
// offer returns an error, the input has no effect. over is closed when the controller that took it
// is abandoned.
func (l *Leader) offer(ctx context.Context, input func(*controller)) (over <-chan struct{}, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, leaderWait, ErrNoLeader)
	defer cancel()
	var settled atomic.Bool // by the controller, or by a caller that has given up
	taken, elsewhere := make(chan struct{}), make(chan struct{})
	err = l.enqueue(ctx, func(c *controller) {
		switch {
		case !settled.CompareAndSwap(false, true):
		case c == nil:
			close(elsewhere)
		default:
			over = c.abandoned
			close(taken)
			input(c)
		}
	})
	if err != nil {
		return nil, err
	}
	select {
	case <-taken:
		return over, nil
	case <-elsewhere:
		return nil, ErrElsewhere
	case <-ctx.Done():
		err = context.Cause(ctx)
	case <-l.stopped:
		err = ErrStopped
	}
	if settled.CompareAndSwap(false, true) {
		return nil, err
	}
	select { // check again: it may have been settled at the same time
	case <-elsewhere:
		return nil, ErrElsewhere
	case <-taken:
		return over, nil
	}
}

// atOnce returns what f returns. It does not wait for what f saw or did to be committed.
func atOnce[T any](ctx context.Context, l *Leader, f func(*controller) (T, error)) (T, error) {
	return consult(ctx, l, func(c *controller, answer func(T, error)) { answer(f(c)) })
}

// observe returns what read returns, once all that it may have seen is committed.
func observe[T any](ctx context.Context, l *Leader, read func(*controller) T) (T, error) {
	return decide(ctx, l, func(c *controller) (T, error) { return read(c), nil })
}

// decide returns what change returns, once that is committed; an error of change at once.
func decide[T any](ctx context.Context, l *Leader, change func(*controller) (T, error)) (T, error) {
	return consult(ctx, l, func(c *controller, answer func(T, error)) {
		value, err := change(c)
		if err != nil {
			answer(value, err)
			return
		}
		c.call(func(err error) { answer(value, err) })
	})
}

// decideOnly is decide for a change that returns nothing else.
func (l *Leader) decideOnly(ctx context.Context, change func(*controller) error) error {
	_, err := decide(ctx, l, func(c *controller) (struct{}, error) { return struct{}{}, change(c) })
	return err
}

// consult gives an input to the controller and waits for its answer.
func consult[T any](ctx context.Context, l *Leader, input func(c *controller, answer func(T, error))) (T, error) {
	type reply struct {
		value T
		err   error
	}
	replies := make(chan reply, 1)
	answer := func(value T, err error) { replies <- reply{value, err} }
	var zero T
	over, err := l.offer(ctx, func(c *controller) { input(c, answer) })
	if err != nil {
		return zero, err
	}
	select {
	case r := <-replies:
		return r.value, r.err
	case <-ctx.Done():
		return zero, ctx.Err()
	case <-over:
		select {
		case r := <-replies: // answered at the same time
			return r.value, r.err
		default:
			return zero, ErrLost
		}
	case <-l.stopped:
		select {
		case r := <-replies: // answered at the same time
			return r.value, r.err
		default:
			return zero, ErrStopped
		}
	}
}
