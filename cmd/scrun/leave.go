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

// leaving are the signals that end scrun while it has no job whose ranks could
// get them. The others wait for the ranks.
var leaving = []os.Signal{unix.SIGINT, unix.SIGTERM, unix.SIGHUP, unix.SIGQUIT}

// errLeft is wrapped by the error of a step that a signal ended.
var errLeft = errors.New("left")

// leftBy is which signal it was.
type leftBy struct{ number syscall.Signal }

func (l leftBy) Error() string { return fmt.Sprintf("%v on signal %d", errLeft, int(l.number)) }
func (l leftBy) Unwrap() error { return errLeft }

// exitCode returns that of a shell's command which the signal ended.
func (l leftBy) exitCode() int {
	if l.number == unix.SIGINT {
		return interrupted
	}
	return 128 + int(l.number)
}

// unlessLeft does a step that comes before the job is known, and gives it up at
// the first signal that asks scrun to end. A signal that comes later is left to
// the session, which hears of all of them.
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

// awaitStep lets a step that was given up clean up behind itself. A daemon that
// stands still can hold a write to its socket; the end of scrun frees it.
func awaitStep(done <-chan struct{}) {
	bound := time.NewTimer(leaveTimeout)
	defer bound.Stop()
	select {
	case <-done:
	case <-bound.C:
	}
}
