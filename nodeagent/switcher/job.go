package switcher

import (
	"score/ctxswitch"
	"sync"
	"sync/atomic"
	"time"
)

// Container is what the switching thread uses of cgroup.Container. The methods
// are called from that thread alone.
type Container interface {
	// Freeze asks that all processes stop.
	Freeze() error
	// WaitFrozen returns nil when they have, or an error at the deadline. The
	// thread passes the zero deadline, so it only checks.
	WaitFrozen(deadline time.Time) error
	// Thaw lets them run again.
	Thaw() error
}

// Job is what the thread needs to know of a job on this node.
type Job struct {
	ID        ctxswitch.JobID
	Container Container
	// Launch starts the job's processes for the first time. It runs on the
	// switching thread: it must not block, and needs not wait for them.
	Launch func() error
	// Signals means that the container stops processes by signals, so that the
	// next job must wait until they stand still.
	Signals bool
	// TimeLimit makes a NoticeTimeUp when the job has been on for so long;
	// 0: none.
	TimeLimit time.Duration
	// NearLimit makes a NoticeTimeNear before that; 0: none.
	NearLimit time.Duration
}

// Handle gives the state of a job without asking the thread.
type Handle struct {
	on    atomic.Bool
	since atomic.Int64 // when it came on last
	ran   atomic.Int64 // ns that it was on before that
}

// On reports whether the job's gang is on: launched, or let go, and not stopped
// since.
func (h *Handle) On() bool { return h.on.Load() }

// Ran is how long the gang has been on so far at the present instant, of
// realtime.Now.
func (h *Handle) Ran(now int64) time.Duration {
	ran := h.ran.Load() // before on: a stop in between is not counted twice
	if h.on.Load() {
		ran += max(now-h.since.Load(), 0)
	}
	return time.Duration(ran)
}

// set notes that the gang comes on, or is stopped.
func (h *Handle) set(on bool, now int64) {
	if on == h.on.Load() {
		return
	}
	if on {
		h.since.Store(now)
	} else {
		h.ran.Add(now - h.since.Load())
	}
	h.on.Store(on)
}

// job is the thread's own view.
type job struct {
	Job
	handle      Handle
	network     Network // nil: it has no contexts
	flushes     Flushes // since the last report
	nearNoticed bool    // a notice was given that it has been on for its NearLimit
	endNoticed  bool    // a notice was given that its time is up
	failed      bool    // an order to its container has failed; told once
	switching   time.Duration
	dirty       bool // something was measured since the last report
	measures    *ctxswitch.Measures
	// reported is the other half of a pair: the measurements in the last
	// report, which its reader empties before it asks for the next. It is nil
	// before the first report; most jobs end before that.
	reported *ctxswitch.Measures
}

// rest pauses or resumes the job's contexts, if it has any.
func (j *job) rest(still bool) {
	switch {
	case j.network == nil:
	case still:
		j.network.Pause()
	default:
		j.network.Resume()
	}
}

// emptyMeasures are the measures of ended jobs, for reuse. Each has tens of kilobytes; a short job
// touches only the first few.
var emptyMeasures = sync.Pool{New: func() any { return new(ctxswitch.Measures) }}

func newJob(j Job) *job {
	return &job{Job: j, measures: emptyMeasures.Get().(*ctxswitch.Measures)}
}

// swapMeasures gives what was measured to a report and goes on with the other
// half of the pair.
func (j *job) swapMeasures() *ctxswitch.Measures {
	if j.reported == nil {
		j.reported = emptyMeasures.Get().(*ctxswitch.Measures)
	}
	j.measures, j.reported, j.dirty = j.reported, j.measures, false
	return j.reported
}

// freezing is a freeze that has not been confirmed yet.
type freezing struct {
	effect ctxswitch.Effect
	job    *job
}
