// Package await lets tests wait for conditions that nothing signals.
package await

import (
	"context"
	"fmt"
	"time"
)

const (
	// Patience bounds every wait: a busy machine takes seconds for what a quiet one does in a tenth
	// of one.
	Patience = time.Minute
	// The pause between two checks grows: most conditions come at once, and a busy machine is not
	// made busier by those that do not.
	shortestPause, longestPause = 200 * time.Microsecond, 5 * time.Millisecond
)

// Test is the part of testing.TB that That uses. Programs that wait do not link package testing.
type Test interface {
	Helper()
	Fatal(arguments ...any)
}

// That waits until is returns true, and ends the test if it does not.
func That(t Test, what string, is func() bool) {
	t.Helper()
	if err := Until(context.Background(), what, is); err != nil {
		t.Fatal(err)
	}
}

// Until waits until is returns true. The error says what did not come.
func Until(ctx context.Context, what string, is func() bool) error {
	return Within(ctx, Patience, what, is)
}

// Within is Until with another bound.
func Within(ctx context.Context, bound time.Duration, what string, is func() bool) error {
	ctx, cancel := context.WithTimeoutCause(ctx, bound, fmt.Errorf("not within %v: %s", bound, what))
	defer cancel()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for pause := shortestPause; !is(); pause = min(2*pause, longestPause) {
		timer.Reset(pause)
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-timer.C:
		}
	}
	return nil
}
