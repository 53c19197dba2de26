package rpc

import (
	"fmt"
	"score/scored/api"
	"score/scored/leader"
	"score/scored/replica"
	"testing"

	"connectrpc.com/connect"
)

// TestElectionsInWords: the error of a call that an election interrupts, and whether it says that
// the call may be repeated safely.
func TestElectionsInWords(t *testing.T) {
	for _, c := range []struct {
		err       error
		code      connect.Code
		unchanged string
		text      string
	}{
		{
			fmt.Errorf("%w: the change was not committed: %w", leader.ErrLost, replica.ErrOutcome), connect.CodeUnavailable, "",
			"the change was not committed: this server stopped leading before the change was confirmed, so it may have been made or not; check, and try again",
		},
		{fmt.Errorf("%w: %w", leader.ErrNoLeader, replica.ErrNotLeader), connect.CodeUnavailable, api.Yes, "this server does not lead now; try again"},
		{replica.ErrNotLeader, connect.CodeUnavailable, api.Yes, "this server does not lead now; try again"},
		{
			fmt.Errorf("%w: the cluster is starting, and 1 of its 2 nodes are connected", leader.ErrStarting), connect.CodeUnavailable, api.Yes,
			"the cluster is starting, and 1 of its 2 nodes are connected",
		},
		{replica.ErrOutcome, connect.CodeUnavailable, "", replica.ErrOutcome.Error()},
		{replica.ErrBusy, connect.CodeUnavailable, "", replica.ErrBusy.Error()},
		{replica.ErrClosed, connect.CodeUnavailable, "", "the server is stopping"},
		{replica.ErrUnchanged, connect.CodeFailedPrecondition, "", replica.ErrUnchanged.Error()},
	} {
		got, ok := withCode(c.err).(*connect.Error) //nolint:errorlint // users get exactly this error
		if !ok || got.Code() != c.code || got.Message() != c.text || got.Meta().Get(api.Unchanged) != c.unchanged {
			t.Errorf("%v: %v", c.err, got)
		}
	}
}
