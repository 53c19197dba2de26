package replica

import (
	"github.com/hashicorp/raft"
	"go.uber.org/zap"
)

// LeaseTimeout is for how long a majority's word that a replica leads can be relied on: no other is
// elected sooner.
const LeaseTimeout = leaseTimeout

// Leadership tells that this replica leads since the term began, or no more.
type Leadership struct {
	Leader bool
	Term   uint64
}

// Leadership tells every change, first that this replica has become leader.
func (r *Replica) Leadership() <-chan Leadership { return r.leadership }

// watch turns Raft's changes of leadership into ours, each with its term and
// with every entry of earlier terms applied.
func (r *Replica) watch(changes <-chan bool) {
	for {
		select {
		case <-r.stop:
			return
		case leader := <-changes:
			next := Leadership{Leader: leader}
			if leader {
				if err := r.raft.Barrier(enqueueTimeout).Error(); err != nil {
					r.logger.Debug("leadership lost at once", zap.Error(err))
					continue
				}
				next.Term = r.raft.CurrentTerm()
				r.updateOwnAddress()
			}
			select {
			case r.leadership <- next:
			case <-r.stop:
				return
			}
		}
	}
}

// updateOwnAddress notes in the log that this replica, which leads, is to be reached elsewhere than before.
func (r *Replica) updateOwnAddress() {
	list, err := r.Servers()
	if err != nil {
		return
	}
	if us, ok := find(list, r.name); ok && us.Address != r.address {
		r.raft.AddVoter(raft.ServerID(r.name), raft.ServerAddress(r.address), 0, configTimeout)
	}
}
