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

// endingSignals are the signals that end scrun while it has no job to forward them to.
var endingSignals = []os.Signal{unix.SIGINT, unix.SIGTERM, unix.SIGHUP, unix.SIGQUIT}

// errLeft is wrapped by the error of a step that a signal ended.
var errLeft = errors.New("left")

// leftBy is the error of a step that a signal ended.
type leftBy struct{ number syscall.Signal }

func (l leftBy) Error() string { return fmt.Sprintf("%v on signal %d", errLeft, int(l.number)) }
func (l leftBy) Unwrap() error { return errLeft }

// exitCode returns the exit code that a shell reports for a command that the signal ended.
func (l leftBy) exitCode() int {
	if l.number == unix.SIGINT {
		return interrupted
	}
	return 128 + int(l.number)
}

// unlessInterrupted performs a step before the job is known, and cancels it at the first signal that asks
// scrun to end. Later signals are left to the session, which receives all of them.
func unlessInterrupted[T any](ctx context.Context, step func(context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	caught := make(chan os.Signal, 1)
	for _, one := range endingSignals {
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

// awaitStep waits for the clean-up of a cancelled step. The wait is bounded: a daemon that does not
// run can block a write to its socket until scrun ends.
func awaitStep(done <-chan struct{}) {
	bound := time.NewTimer(leaveTimeout)
	defer bound.Stop()
	select {
	case <-done:
	case <-bound.C:
	}
}
