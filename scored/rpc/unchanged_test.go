package rpc

import (
	"context"
	"errors"
	"fmt"
	"score/scored/leader"
	"score/scored/replica"
	"testing"

	"connectrpc.com/connect"
)

// A call that had no effect is known by the error of this server, and by what it has become on its
// way to another one.
func TestUnchanged(t *testing.T) {
	for _, test := range []struct {
		err  error
		want bool
	}{
		{leader.ErrElsewhere, true},
		{fmt.Errorf("%w: now", replica.ErrNotLeader), true},
		{fmt.Errorf("%w: %w", leader.ErrLost, replica.ErrNotLeader), false},
		{replica.ErrOutcome, false},
		{leader.ErrDenied, false},
		{context.Canceled, false},
		{errors.New("another"), false},
		{connect.NewError(connect.CodeUnavailable, leader.ErrElsewhere), false}, // whose, nobody knows
	} {
		if here, there := Unchanged(test.err), Unchanged(withCode(test.err)); here != test.want || there != test.want {
			t.Errorf("%v: %v here, %v there; want %v", test.err, here, there, test.want)
		}
	}
}
