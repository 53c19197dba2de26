package node

import "sync"

// shares bound the contexts of a node, and each job's part of them. Contexts that a job was given
// (JobConfig.Channels) are reserved for it: the leader has counted them. Others, channel 0 of each
// rank, a job gets while it has fewer of them than are free: so one job takes at most half, and
// some are always left for others.
type shares struct {
	mu       sync.Mutex
	max      int
	made     int
	promised int // that jobs were given and have not made yet
}

// share is a job's part of them, guarded by the lock of shares.
type share struct {
	unmade int // given and not made yet
	extra  int // made beyond what was given
}

// claim is what a context counts as in its job's share.
type claim uint8

const (
	unreserved claim = iota
	reserved         // one that the job was given, as long as some of these are not made
)

// claimFor returns what a context of this channel counts as: nobody counts channel 0 of a rank when
// a job is placed.
func claimFor(channel uint32) claim {
	if channel == 0 {
		return unreserved
	}
	return reserved
}

// promise reserves contexts for a job.
func (s *shares) promise(to *share, contexts int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	to.unmade += contexts
	s.promised += contexts
}

// take counts one more context, if one more is allowed, and returns what it counts as.
func (s *shares) take(of *share, c claim) (taken claim, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c = of.left(c)
	if s.made >= s.max || c == unreserved && of.extra >= s.max-s.made-s.promised {
		return c, false
	}
	s.add(of, c, 1)
	return c, true
}

// restore counts a context that exists already, even beyond the bounds.
func (s *shares) restore(of *share, c claim) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.add(of, of.left(c), 1)
}

// undo takes back a context that could not be made; taken is what take returned.
func (s *shares) undo(of *share, taken claim) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.add(of, taken, -1)
}

// left returns unreserved for a context of a job that has made all that it was given.
func (of *share) left(c claim) claim {
	if of.unmade == 0 {
		return unreserved
	}
	return c
}

// add counts contexts. The caller holds mu.
func (s *shares) add(of *share, c claim, contexts int) {
	s.made += contexts
	if c == unreserved {
		of.extra += contexts
		return
	}
	of.unmade -= contexts
	s.promised -= contexts
}

// withdraw ends the reservation of a job that makes no more contexts.
func (s *shares) withdraw(from *share) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.promised -= from.unmade
	from.unmade = 0
}

// free counts contexts that are gone.
func (s *shares) free(contexts int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.made -= contexts
}

func (s *shares) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.made
}
