package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// leaving lists the signals that end scrun while it has no job whose ranks could get them. Other
// signals wait for the ranks.
var leaving = []os.Signal{unix.SIGINT, unix.SIGTERM, unix.SIGHUP, unix.SIGQUIT}

// errLeft means that a signal ended a step.
var errLeft = errors.New("left")

// leftBy is the error of a step that a signal ended.
type leftBy struct{ number syscall.Signal }

func (l leftBy) Error() string { return fmt.Sprintf("%v on signal %d", errLeft, int(l.number)) }
func (l leftBy) Unwrap() error { return errLeft }

// exitCode returns the exit code that a shell has for a command ended by the signal.
func (l leftBy) exitCode() int {
	if l.number == unix.SIGINT {
		return interrupted
	}
	return 128 + int(l.number)
}

// unlessLeft carries out a step before the job is known, and cancels it at the first signal that
// asks scrun to end. Later signals are for the session, which gets all of them.
func unlessLeft[T any](ctx context.Context, step func(context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	caught := make(chan os.Signal, 1)
	for _, one := range leaving {
		if !signal.Ignored(one) {
			signal.Notify(caught, one)
		}
	}
	defer signal.Stop(caught)
	var value T
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		value, err = step(ctx)
	}()
	select {
	case <-done:
		return value, err
	case received := <-caught:
		cancel()
		awaitStep(done)
		number, _ := received.(syscall.Signal)
		var none T
		return none, leftBy{number}
	}
}

// awaitStep waits for the cleanup of a cancelled step, for a bounded time: a hanging daemon can
// block a write to its socket until scrun ends.
func awaitStep(done <-chan struct{}) {
	bound := time.NewTimer(leaveTimeout)
	defer bound.Stop()
	select {
	case <-done:
	case <-bound.C:
	}
}
