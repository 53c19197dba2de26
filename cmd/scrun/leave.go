package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// endingSignals are the signals that end scrun while it has no job to forward them to.
var endingSignals = []os.Signal{unix.SIGINT, unix.SIGTERM, unix.SIGHUP, unix.SIGQUIT}

// leftBy is the error of a step that a signal ended.
type leftBy struct{ number syscall.Signal }

func (l leftBy) Error() string { return fmt.Sprintf("left on signal %d", int(l.number)) }

// exitCode returns the exit code that a shell reports for a command that the signal ended.
func (l leftBy) exitCode() int {
	if l.number == unix.SIGINT {
		return interrupted
	}
	return 128 + int(l.number)
}

// step is an action before the job is known, which runs in the background.
type step[T any] struct {
	cancel context.CancelFunc
	done   chan struct{} // closed when value and err are set
	value  T
	err    error
}

// begin starts a step. The caller must call unlessInterrupted.
func begin[T any](ctx context.Context, act func(context.Context) (T, error)) *step[T] {
	ctx, cancel := context.WithCancel(ctx)
	s := &step[T]{cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(s.done)
		s.value, s.err = act(ctx)
	}()
	return s
}

// unlessInterrupted performs a step, and cancels it at the first signal that asks scrun to end.
// Later signals are left to the session, which receives all of them.
func unlessInterrupted[T any](ctx context.Context, act func(context.Context) (T, error)) (T, error) {
	return begin(ctx, act).unlessInterrupted()
}

// unlessInterrupted waits for the step, and cancels it as the function of that name does.
func (s *step[T]) unlessInterrupted() (T, error) {
	defer s.cancel()
	caught := make(chan os.Signal, 1)
	for _, one := range endingSignals {
		if !signal.Ignored(one) {
			signal.Notify(caught, one)
		}
	}
	defer signal.Stop(caught)
	select {
	case <-s.done:
		return s.value, s.err
	case received := <-caught:
		s.cancel()
		// The clean-up may take for ever: a daemon that does not run can block a write to its
		// socket.
		waitAtMost(leaveTimeout, s.done)
		number, _ := received.(syscall.Signal)
		var none T
		return none, leftBy{number}
	}
}

// waitAtMost waits until done is closed, no longer than the given time.
func waitAtMost(limit time.Duration, done <-chan struct{}) {
	bound := time.NewTimer(limit)
	defer bound.Stop()
	select {
	case <-done:
	case <-bound.C:
	}
}
