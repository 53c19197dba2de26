package replica

import (
	"errors"
	"testing"

	"github.com/hashicorp/raft"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
)

// failed is a future of Raft that has failed.
type failed struct{ err error }

func (f failed) Error() error { return f.err }

// TestErrorsDoNotMentionRaft: errors for users do not contain Raft's terms.
func TestErrorsDoNotMentionRaft(t *testing.T) {
	core, lines := observer.New(zap.WarnLevel)
	r := &Replica{logger: zap.New(core)}
	for _, c := range []struct {
		said error
		want error
	}{
		{nil, nil},
		{raft.ErrNotLeader, ErrNotLeader},
		{raft.ErrLeadershipTransferInProgress, ErrNotLeader},
		{raft.ErrLeadershipLost, ErrOutcome},
		{raft.ErrAbortedByRestore, ErrOutcome},
		{raft.ErrEnqueueTimeout, ErrBusy},
		{raft.ErrRaftShutdown, ErrClosed},
		{raft.ErrTransportShutdown, ErrClosed},
		{errors.New("configuration changed since 7 (latest is 9)"), ErrUnchanged},
	} {
		got := r.awaitChange(failed{c.said})
		if !errors.Is(got, c.want) || c.said != nil && errors.Is(got, c.said) {
			t.Errorf("%v: %v", c.said, got)
		}
	}
	if lines.Len() != 1 {
		t.Errorf("%d lines of the log, want one with what no table has", lines.Len())
	}
}

// A closed replica returns the errors for users.
func TestRefusalsInWords(t *testing.T) {
	r, err := Open(Options{})
	if err != nil {
		t.Fatal(err)
	}
	<-r.Leadership()
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	for what, err := range map[string]error{
		"commit": r.Commit(nil), "verify": r.Verify(t.Context()), "enrol": second(r.Enrol("x", "127.0.0.1:1", 0)),
	} {
		if !errors.Is(err, ErrClosed) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func second(_ bool, err error) error { return err }
