package guard

import (
	"sync"
	"time"
)

// slowestWindow is for how long a slow write is remembered at least, and half of how long at most: long
// enough for somebody who looks when users complain.
const slowestWindow = time.Minute

// slowest remembers the longest of the writes of late.
type slowest struct {
	mu      sync.Mutex
	since   time.Time // when present began
	present time.Duration
	before  time.Duration // of the minute before
}

// add notes a write that took so long, at its end.
func (s *slowest) add(now time.Time, took time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.turn(now)
	s.present = max(s.present, took)
}

// longest returns the longest of the last minute, or of up to two.
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

// SlowestWrite returns how long the longest write of the log took in the last minute or two. One
// that has not ended does not count yet; it ends, or the disk fails, within WriteBound.
func (d *Disk) SlowestWrite() time.Duration { return d.writes.longest(time.Now()) }
