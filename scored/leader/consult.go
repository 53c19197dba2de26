package leader

import "context"

// do hands an input to the brain.
func (l *Leader) do(ctx context.Context, input func(*brain)) error {
	select {
	case l.inputs <- input:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-l.stopped:
		return ErrStopped
	}
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
	if err := l.do(ctx, func(b *brain) { input(b, answer) }); err != nil {
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
