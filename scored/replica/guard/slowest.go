package guard

import (
	"sync"
	"time"
)

// slowestWindow is the shortest time for which a slow write is remembered, and half of the longest:
// long enough to be seen when users complain.
const slowestWindow = time.Minute

// slowest records the longest recent write.
type slowest struct {
	mu      sync.Mutex
	since   time.Time // when the present minute began
	present time.Duration
	before  time.Duration // in the minute before
}

// add records a write at its end.
func (s *slowest) add(now time.Time, took time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.turn(now)
	s.present = max(s.present, took)
}

// longest returns the longest write of the last one to two minutes.
func (s *slowest) longest(now time.Time) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.turn(now)
	return max(s.present, s.before)
}

func (s *slowest) turn(now time.Time) {
	switch passed := now.Sub(s.since); {
	case passed >= 2*slowestWindow:
		s.since, s.present, s.before = now, 0, 0
	case passed >= slowestWindow:
		s.since, s.present, s.before = s.since.Add(slowestWindow), 0, s.present
	}
}

// SlowestWrite returns the duration of the longest write of the log in the last one to two minutes.
// A pending write does not count; within WriteBound it ends, or the disk fails.
func (d *Disk) SlowestWrite() time.Duration { return d.writes.longest(time.Now()) }
