package switcher

import (
	"score/ctxswitch"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// Container is the part of cgroup.Container that the switching thread uses. The methods are called
// from that thread alone.
type Container interface {
	// Freeze orders all processes to stop.
	Freeze() error
	// WaitFrozen returns nil once all processes have stopped, or an error at the deadline. The
	// thread passes the zero deadline, so it only checks.
	WaitFrozen(deadline time.Time) error
	// Thaw lets the processes run again.
	Thaw() error
	// CPUTime returns the processor time of all processes so far.
	CPUTime() (time.Duration, error)
}

// Job describes a job on this node to the thread.
type Job struct {
	ID        ctxswitch.JobID
	Container Container
	// Launch starts the job's processes. It runs on the switching thread: it must not block, and
	// need not wait for the processes.
	Launch func() error
	// Signals means that the container stops processes by signals, so that the
	// next job must wait until they stand still.
	Signals bool
	// CPUs are the CPUs of the job's ranks, as the kernel numbers them; none: any.
	CPUs []int
	// NotPlannedYet means that plans that have come already mean an earlier attempt of the job.
	NotPlannedYet bool
	// TimeLimit is the time on after which a NoticeTimeUp comes; 0: none.
	TimeLimit time.Duration
	// NearLimit is the time on after which a NoticeTimeNear comes; 0: none.
	NearLimit time.Duration
}

// Handle shows the state of a job without a question to the thread.
type Handle struct {
	on    atomic.Bool
	since atomic.Int64 // when the gang came on last
	ran   atomic.Int64 // nanoseconds on before that
}

// On reports whether the job's gang is on: launched or thawed, and not stopped since.
func (h *Handle) On() bool { return h.on.Load() }

// Ran returns how long the gang has been on until now, an instant of realtime.Now.
func (h *Handle) Ran(now int64) time.Duration {
	ran := h.ran.Load() // before on: a stop in between is not counted twice
	if h.on.Load() {
		ran += max(now-h.since.Load(), 0)
	}
	return time.Duration(ran)
}

// noteOn records that the gang comes on.
func (h *Handle) noteOn(now int64) {
	if !h.on.Load() {
		h.since.Store(now)
		h.on.Store(true)
	}
}

// noteStopped records that the gang is stopped.
func (h *Handle) noteStopped(now int64) {
	if h.on.Load() {
		h.ran.Add(now - h.since.Load())
		h.on.Store(false)
	}
}

// job is the thread's own state of a job.
type job struct {
	Job
	handle      Handle
	network     Network // nil: it has no contexts
	flushes     Flushes // since the last report
	nearNoticed bool    // NoticeTimeNear was given
	endNoticed  bool    // NoticeTimeUp was given
	failed      bool    // an order to its container has failed; NoticeFailed was given
	switching   time.Duration
	cpus        unix.CPUSet   // of Job.CPUs
	thawed      time.Duration // what the last order to go on took
	costly      bool          // the last stop cost so much that orders are given on the job's CPUs
	dirty       bool          // something was measured since the last report
	measures    *ctxswitch.Measures
	// reported is the other one of two buffers: the measurements in the last report, which its
	// reader empties before it asks for the next. It is nil before the first report; most jobs end
	// before that.
	reported *ctxswitch.Measures
}

// pause pauses the job's contexts, if it has any.
func (j *job) pause() {
	if j.network != nil {
		j.network.Pause()
	}
}

// resume resumes them.
func (j *job) resume() {
	if j.network != nil {
		j.network.Resume()
	}
}

// emptyMeasures holds the measures of ended jobs, for reuse. Each has tens of kilobytes; a short
// job touches only the first few.
var emptyMeasures = sync.Pool{New: func() any { return new(ctxswitch.Measures) }}

func newJob(j Job) *job {
	added := &job{Job: j, measures: emptyMeasures.Get().(*ctxswitch.Measures)}
	for _, cpu := range j.CPUs {
		added.cpus.Set(cpu)
	}
	return added
}

// swapMeasures returns the measurements for a report, and continues with the other buffer.
func (j *job) swapMeasures() *ctxswitch.Measures {
	if j.reported == nil {
		j.reported = emptyMeasures.Get().(*ctxswitch.Measures)
	}
	j.measures, j.reported, j.dirty = j.reported, j.measures, false
	return j.reported
}
