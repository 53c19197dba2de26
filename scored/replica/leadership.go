package replica

import (
	"github.com/hashicorp/raft"
	"go.uber.org/zap"
)

// LeaseTimeout is how long a replica surely leads after a majority has confirmed it: no other is
// elected sooner.
const LeaseTimeout = leaseTimeout

// Leadership reports that this replica leads in a term, or no longer leads.
type Leadership struct {
	Leader bool
	Term   uint64
}

// Leadership reports every change, the first when this replica has become leader.
func (r *Replica) Leadership() <-chan Leadership { return r.leadership }

// watch passes on Raft's changes of leadership, with the term.
func (r *Replica) watch(changes <-chan bool) {
	for {
		select {
		case <-r.stop:
			return
		case leader := <-changes:
			next := Leadership{Leader: leader}
			if leader && !r.beginTerm(&next) {
				continue
			}
			select {
			case r.leadership <- next:
			case <-r.stop:
				return
			}
		}
	}
}

// beginTerm waits until the entries of earlier terms are applied, and fills in the term. It reports
// false if the leadership is lost by then.
func (r *Replica) beginTerm(next *Leadership) bool {
	if err := r.raft.Barrier(enqueueTimeout).Error(); err != nil {
		r.logger.Debug("leadership lost at once", zap.Error(err))
		return false
	}
	next.Term = r.raft.CurrentTerm()
	r.updateOwnAddress()
	return true
}

// updateOwnAddress records this leader's address in the log if it has changed.
func (r *Replica) updateOwnAddress() {
	list, err := r.Servers()
	if err != nil {
		return
	}
	if us, ok := find(list, r.name); ok && us.Address != r.address {
		r.raft.AddVoter(raft.ServerID(r.name), raft.ServerAddress(r.address), 0, configTimeout)
	}
}
