package replica

import (
	"sync"
	"time"

	"github.com/hashicorp/raft"
	"go.uber.org/zap"
)

// leaderWatch tracks who leads, as Raft reports it.
type leaderWatch struct {
	logger  *zap.Logger
	mu      sync.Mutex
	changed chan struct{} // closed, and replaced, when the leader changes
	silent  map[string]time.Time
}

func newLeaderWatch(logger *zap.Logger) *leaderWatch {
	return &leaderWatch{logger: logger, changed: make(chan struct{}), silent: make(map[string]time.Time)}
}

func (n *leaderWatch) onObservation(observed raft.Observation) {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch o := observed.Data.(type) {
	case raft.LeaderObservation:
		close(n.changed)
		n.changed = make(chan struct{})
		clear(n.silent)
	case raft.FailedHeartbeatObservation:
		if n.silent[string(o.PeerID)].IsZero() {
			n.silent[string(o.PeerID)] = o.LastContact
			n.logger.Warn("a server does not answer", zap.String("server", string(o.PeerID)))
		}
	case raft.ResumedHeartbeatObservation:
		delete(n.silent, string(o.PeerID))
		n.logger.Info("a server answers again", zap.String("server", string(o.PeerID)))
	case raft.PeerObservation: // of one that is added again Raft reports no resumed heartbeat
		delete(n.silent, string(o.Peer.ID))
	}
}

func (n *leaderWatch) silentSince(name string) time.Time {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.silent[name]
}

func (n *leaderWatch) next() <-chan struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.changed
}

// observationBuffer is the number of Raft's observations that may be queued; more are dropped.
const observationBuffer = 64

// observeRaft handles Raft's observations until Close.
func (r *Replica) observeRaft() {
	observations := make(chan raft.Observation, observationBuffer)
	observer := raft.NewObserver(observations, false, func(o *raft.Observation) bool {
		switch o.Data.(type) {
		case raft.LeaderObservation, raft.FailedHeartbeatObservation, raft.ResumedHeartbeatObservation,
			raft.PeerObservation:
			return true
		default:
			return false
		}
	})
	r.raft.RegisterObserver(observer)
	r.stopped.Go(func() {
		defer r.raft.DeregisterObserver(observer)
		for {
			select {
			case o := <-observations:
				r.leaderWatch.onObservation(o)
			case <-r.stop:
				return
			}
		}
	})
}

// Leader returns who leads, as far as this replica knows; "": unknown.
func (r *Replica) Leader() (name, address string) {
	at, id := r.raft.LeaderWithID()
	return string(id), string(at)
}

// LeaderOf returns this replica's term and the address of its leader; "": there is none yet.
func (r *Replica) LeaderOf() (term uint64, address string) {
	for {
		term = r.raft.CurrentTerm()
		_, address = r.Leader()
		// Raft resets the leader before the term changes.
		if r.raft.CurrentTerm() == term {
			return term, address
		}
	}
}

// LeaderChanged returns a channel that is closed once Leader's answer has changed since the call,
// or soon after.
func (r *Replica) LeaderChanged() <-chan struct{} { return r.leaderWatch.next() }
