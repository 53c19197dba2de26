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
	failed  map[string]failure
}

// failure is a server's last heartbeat that failed. Raft may report it late: of a server that was
// removed or of an earlier term, while newer heartbeats are answered.
type failure struct {
	noted       time.Time
	lastContact time.Time // before it
}

func newLeaderWatch(logger *zap.Logger) *leaderWatch {
	return &leaderWatch{logger: logger, changed: make(chan struct{}), failed: make(map[string]failure)}
}

func (n *leaderWatch) onObservation(observed raft.Observation) {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch o := observed.Data.(type) {
	case raft.LeaderObservation:
		close(n.changed)
		n.changed = make(chan struct{})
		clear(n.failed)
	case raft.FailedHeartbeatObservation:
		name := string(o.PeerID)
		if o.LastContact.After(n.failed[name].noted) {
			n.logger.Warn("a server does not answer", zap.String("server", name))
		}
		n.failed[name] = failure{noted: time.Now(), lastContact: o.LastContact}
	case raft.ResumedHeartbeatObservation:
		n.logger.Info("a server answers again", zap.String("server", string(o.PeerID)))
	}
}

// silentSince returns the time since which a server has not answered; zero: it has answered a
// heartbeat that was sent after the last failure. Raft does not report an answer after each
// failure.
func (n *leaderWatch) silentSince(name string, answered time.Time) time.Time {
	n.mu.Lock()
	defer n.mu.Unlock()
	last := n.failed[name]
	if answered.After(last.noted) {
		return time.Time{}
	}
	return last.lastContact
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
		case raft.LeaderObservation, raft.FailedHeartbeatObservation, raft.ResumedHeartbeatObservation:
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
