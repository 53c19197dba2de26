package replica

import (
	"errors"

	"github.com/hashicorp/raft"
)

// What Raft's errors mean to users, who need not know of it.
var (
	// ErrOutcome: another server was elected while a change was on its way to the others.
	ErrOutcome = errors.New("this server lost the lead meanwhile, and whether the change was made is not known; look, and try again")
	// ErrBusy: the change has not come as far as the log.
	ErrBusy = errors.New("this server is too busy, or its disk too slow, to take the change; try again")
)

// raftErrors are in pairs: what Raft says, and what that means.
var raftErrors = []struct{ raft, meaning error }{
	{raft.ErrNotLeader, ErrNotLeader},
	{raft.ErrLeadershipTransferInProgress, ErrNotLeader},
	{raft.ErrLeadershipLost, ErrOutcome},
	{raft.ErrAbortedByRestore, ErrOutcome},
	{raft.ErrEnqueueTimeout, ErrBusy},
	{raft.ErrRaftShutdown, ErrClosed},
	{raft.ErrTransportShutdown, ErrClosed},
}

// translateError says in the house's words what Raft says in its own.
func translateError(err error) error {
	for _, w := range raftErrors {
		if errors.Is(err, w.raft) {
			return w.meaning
		}
	}
	return err
}
