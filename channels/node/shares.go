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

// promise reserves contexts for a job.
func (s *shares) promise(to *share, contexts int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	to.unmade += contexts
	s.promised += contexts
}

// take counts one more context, if one more is allowed; given: as one of those that the job was
// given.
func (s *shares) take(of *share, given bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	given = given && of.unmade > 0
	if s.made >= s.max || !given && of.extra >= s.max-s.made-s.promised {
		return false
	}
	s.add(of, given)
	return true
}

// restore counts a context that exists already, even beyond the bounds.
func (s *shares) restore(of *share, given bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.add(of, given && of.unmade > 0)
}

// add counts a context. The caller holds mu.
func (s *shares) add(of *share, given bool) {
	s.made++
	if !given {
		of.extra++
		return
	}
	of.unmade--
	s.promised--
}

// undo takes back a context that could not be made.
func (s *shares) undo(of *share, given bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.made--
	if !given {
		of.extra--
		return
	}
	of.unmade++
	s.promised++
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
