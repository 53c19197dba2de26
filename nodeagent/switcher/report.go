package switcher

import (
	"context"
	"score/ctxswitch"
	"slices"
	"time"
)

const (
	// MaxBoundaries is the largest number of switches in a report: those of a second with slices of
	// 1 ms. If there are more, the oldest are dropped and counted.
	MaxBoundaries = 1024
	// boundaryJobs is the number of jobs per boundary for which memory is allocated at once.
	boundaryJobs = 8
	// collectAhead is the least time between the work of a report and the next switch.
	collectAhead = time.Millisecond
)

// Boundary is one switch that all nodes made at the same planned instant.
type Boundary struct {
	Version uint64
	Round   int64
	Pos     int
	Planned int64 // cluster nanoseconds
	Running int64 // cluster nanoseconds at which the new jobs ran
	In, Out []ctxswitch.JobID
}

// JobReport holds the measurements of one job since the last report, if it was switched or is on,
// and its usage so far.
type JobReport struct {
	ID       ctxswitch.JobID
	Measures *ctxswitch.Measures
	Usage    Usage
	Flushes  Flushes

	departed bool // the job was removed: only the report has the measures
}

// Report holds the measurements since the last report. Make it with NewReport
// and reuse it; Collect empties it first.
type Report struct {
	Node       *ctxswitch.Measures
	Jobs       []JobReport
	Boundaries []Boundary // oldest first
	Dropped    uint64     // boundaries that did not fit
	Missed     uint64     // boundaries that passed before the thread woke
	Late       uint64     // jobs that did not stop in time
	Switches   uint64
	Launches   uint64
	Flushes    Flushes
	// LostNotices counts notices that did not fit into the channel.
	LostNotices uint64

	filled chan struct{}
}

// NewReport makes an empty report.
func NewReport() *Report {
	return &Report{
		Node:       new(ctxswitch.Measures),
		Boundaries: newBoundaries(),
		filled:     make(chan struct{}, 1),
	}
}

func newBoundaries() []Boundary {
	ring := make([]Boundary, 0, MaxBoundaries)
	for i := range ring[:MaxBoundaries] {
		jobs := make([]ctxswitch.JobID, 2*boundaryJobs)
		ring[:MaxBoundaries][i] = Boundary{In: jobs[:0:boundaryJobs], Out: jobs[boundaryJobs:boundaryJobs]}
	}
	return ring
}

// Empty reports whether the report holds nothing.
func (r *Report) Empty() bool {
	return len(r.Jobs) == 0 && len(r.Boundaries) == 0 && r.Switches == 0 && r.Launches == 0 &&
		r.Missed == 0 && r.Late == 0 && r.LostNotices == 0
}

// reset empties the report for reuse.
func (r *Report) reset() {
	*r.Node = ctxswitch.Measures{}
	for _, j := range r.Jobs {
		*j.Measures = ctxswitch.Measures{}
		if j.departed {
			emptyMeasures.Put(j.Measures)
		}
	}
	clear(r.Jobs)
	*r = Report{Node: r.Node, Jobs: r.Jobs[:0], Boundaries: r.Boundaries[:0], filled: r.filled}
}

// Collect fills the report with the measurements since the last Collect. It is for one caller at a
// time, always with the same report, because it swaps the report's memory with the thread's. It
// returns false if ctx or the thread has ended; then the report must not be used again.
func (s *Switcher) Collect(ctx context.Context, r *Report) bool {
	r.reset()
	if !s.post(&command{report: r}) {
		return false
	}
	select {
	case <-r.filled:
		return true
	case <-ctx.Done():
		return false
	}
}

// Idle reports whether nothing was measured since the last Collect and there is no job, so that
// there is no need to wake the thread.
func (s *Switcher) Idle() bool { return !s.active.Load() }

// fill does the part of Collect that runs on the thread.
func (s *Switcher) fill(r *Report, now int64) {
	s.node, r.Node = r.Node, s.node
	s.boundaries.exchange(r)
	for _, j := range s.jobs {
		if !j.dirty && !j.handle.On() {
			continue
		}
		r.Jobs = append(r.Jobs, JobReport{ID: j.ID, Measures: j.swapMeasures(), Usage: s.usage(j, now), Flushes: j.flushes})
		j.flushes = Flushes{}
	}
	s.active.Store(len(s.jobs) > 0) // the usage of jobs that are on grows
	r.Jobs = append(r.Jobs, s.departed...)
	clear(s.departed)
	s.departed = s.departed[:0]
	r.Missed = s.since(ctxswitch.CountMissedBoundaries)
	r.Late = s.since(ctxswitch.CountLateFreezes)
	r.Switches = s.since(ctxswitch.CountSwitches)
	r.Launches = s.since(ctxswitch.CountLaunches)
	r.Flushes, s.flushes = s.flushes, Flushes{}
	r.LostNotices, s.lostNotices = s.lostNotices, 0
	r.filled <- struct{}{}
}

// since returns the growth of a counter since the last report.
func (s *Switcher) since(c ctxswitch.Counter) uint64 {
	now := s.machine.Count(c)
	grown := now - s.counted[c]
	s.counted[c] = now
	return grown
}

// ring keeps the newest MaxBoundaries boundaries.
type ring struct {
	slots   []Boundary // of length MaxBoundaries
	next    int
	held    int
	dropped uint64
}

// add returns the slot for one more boundary.
func (b *ring) add() *Boundary {
	slot := &b.slots[b.next]
	b.next = (b.next + 1) % MaxBoundaries
	if b.held == MaxBoundaries {
		b.dropped++
	} else {
		b.held++
	}
	return slot
}

// exchange gives the report the boundaries, and takes the report's memory.
func (b *ring) exchange(r *Report) {
	free := r.Boundaries[:MaxBoundaries]
	r.Boundaries, r.Dropped = b.slots[:b.held], b.dropped
	if b.held == MaxBoundaries {
		// The oldest is at next.
		slices.Reverse(b.slots[:b.next])
		slices.Reverse(b.slots[b.next:])
		slices.Reverse(b.slots)
	}
	*b = ring{slots: free}
}
