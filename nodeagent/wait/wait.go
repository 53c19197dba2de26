// Package wait waits for channels, instants and turns.
package wait

import (
	"context"
	"time"
)

// Closed reports whether c is closed.
func Closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// Within waits for the timeout at most until c is closed, and reports whether c was closed. If ctx
// ends first, it returns the cause.
func Within(ctx context.Context, c <-chan struct{}, timeout time.Duration) (bool, error) {
	timer := time.NewTimer(max(timeout, 0))
	defer timer.Stop()
	select {
	case <-c:
		return true, nil
	case <-timer.C:
		return Closed(c), nil
	case <-ctx.Done():
		return false, context.Cause(ctx)
	}
}

// Sleep waits for d or until ctx ends.
func Sleep(ctx context.Context, d time.Duration) { _, _ = Within(ctx, nil, d) }
