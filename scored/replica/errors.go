package replica

import (
	"errors"

	"github.com/hashicorp/raft"
)

// Errors that stand for Raft's, in terms that users know.
var (
	// ErrOutcome: another server was elected while a change was being replicated.
	ErrOutcome = errors.New("this server stopped leading before the change was confirmed, so it may have been made or not; check, and try again")
	// ErrBusy: the change has not reached the log.
	ErrBusy = errors.New("this server is too busy, or its disk too slow, to take the change; try again")
)

// raftErrors pairs Raft's errors with those for users.
var raftErrors = []struct{ raft, meaning error }{
	{raft.ErrNotLeader, ErrNotLeader},
	{raft.ErrLeadershipTransferInProgress, ErrNotLeader},
	{raft.ErrLeadershipLost, ErrOutcome},
	{raft.ErrAbortedByRestore, ErrOutcome},
	{raft.ErrEnqueueTimeout, ErrBusy},
	{raft.ErrRaftShutdown, ErrClosed},
	{raft.ErrTransportShutdown, ErrClosed},
}

// translateError replaces errors of Raft by those for users.
func translateError(err error) error {
	for _, w := range raftErrors {
		if errors.Is(err, w.raft) {
			return w.meaning
		}
	}
	return err
}
