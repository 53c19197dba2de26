package daemons

import (
	"context"
	"score/tests/await"
)

// Patience bounds every wait for a state.
const Patience = await.Patience

// Await waits until is returns true; the error names what did not come.
func Await(ctx context.Context, what string, is func() bool) error {
	return await.Until(ctx, what, is)
}
