package daemons

import (
	"context"
	"fmt"
	"time"
)

const (
	// Patience bounds every wait for a state; a busy machine takes seconds for what a
	// quiet one does in a tenth of one.
	Patience = time.Minute
	// poll is the interval between two checks of a condition.
	poll = 5 * time.Millisecond
)

// Await waits until is returns true; the error names what did not come.
func Await(ctx context.Context, what string, is func() bool) error {
	ctx, cancel := context.WithTimeoutCause(ctx, Patience, fmt.Errorf("not within %v: %s", Patience, what))
	defer cancel()
	tick := time.NewTicker(poll)
	defer tick.Stop()
	for !is() {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
	}
	return nil
}
