package replica

import (
	"time"

	"go.uber.org/zap"
)

const (
	// fruitless is how many elections in a row without a leader make candidates wait for longer. A
	// single one may be a split vote.
	fruitless = 2
	// maxElectionTimeout is enough for votes on a disk whose writes take a second. One on which
	// they take much longer fails, see guard.WriteBound.
	maxElectionTimeout = 8 * time.Second
	// calmTime is how long there must be a leader before candidates wait for as long as usual
	// again.
	calmTime = time.Minute
	// electionWatch is how often a replica sees how elections go: each takes at least so long.
	electionWatch = electionTimeout
)

// electionBackoff decides how long a candidate waits for votes. Candidate and voter write the new
// term and the vote to disk, six writes one after the other; if that takes longer than the
// candidate waits, it begins again, and the cluster has no leader for as long as the disks are
// slow.
//
// Elections that a candidate does not begin, since no majority would vote for it, do not count:
// when the others are back, it must not wait.
type electionBackoff struct {
	usual   time.Duration
	timeout time.Duration
	term    uint64    // of the last leader, or when the timeout last changed
	without time.Time // when there last was no leader
}

// newElectionBackoff begins in a term.
func newElectionBackoff(usual time.Duration, term uint64) *electionBackoff {
	return &electionBackoff{usual: usual, timeout: usual, term: term}
}

// next returns how long candidates wait from now on.
func (b *electionBackoff) next(now time.Time, term uint64, led bool) time.Duration {
	switch {
	case !led:
		b.without = now
		if term >= b.term+fruitless {
			b.term, b.timeout = term, max(b.timeout, min(2*b.timeout, maxElectionTimeout))
		}
	case now.Sub(b.without) >= calmTime:
		b.term, b.timeout = term, b.usual
	default:
		b.term = term
	}
	return b.timeout
}

// watchElections adapts Raft's election timeout until Close.
func (r *Replica) watchElections(usual time.Duration) {
	backoff := newElectionBackoff(usual, r.raft.CurrentTerm())
	ticker := time.NewTicker(electionWatch)
	defer ticker.Stop()
	for {
		select {
		case <-r.stop:
			return
		case now := <-ticker.C:
			term, leader := r.LeaderOf()
			r.setElectionTimeout(backoff.next(now, term, leader != ""))
		}
	}
}

func (r *Replica) setElectionTimeout(timeout time.Duration) {
	config := r.raft.ReloadableConfig()
	if config.ElectionTimeout == timeout {
		return
	}
	config.ElectionTimeout = timeout
	if err := r.raft.ReloadConfig(config); err != nil {
		r.logger.Warn("the time of elections cannot be changed", zap.Error(err))
		return
	}
	r.logger.Info("candidates wait for votes", zap.Duration("at_least", timeout))
}
