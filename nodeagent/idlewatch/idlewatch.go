// Package idlewatch checks which jobs with channels on a node sleep, and what could wake them.
// Package quiescence decides whether a job sleeps; scored/idle combines the reports of a job's
// nodes.
package idlewatch

import (
	"context"
	"score/channels/node"
	"score/nodeagent/quiescence"
	"score/nodeagent/realtime"
	"score/nodeagent/wakesource"
	"score/scored/api/agentpb"
	"sync/atomic"
	"time"
)

// The time between two checks of the jobs. A check is a few loads for each channel, and one read of
// the CPU time of the job's processes: some 10 us.
const (
	// checkEvery is the period for gangs that take their turns.
	checkEvery = 100 * time.Millisecond
	// checkAsleepEvery is the period for gangs that have given their turn away: after such a gang
	// has woken it runs beside another gang until this is noticed and the plan has changed.
	checkAsleepEvery = 20 * time.Millisecond
	// checkForJobsEvery is the period for nodes on which no program has opened a channel: the same
	// as the switching thread's reports.
	checkForJobsEvery = time.Second
	// recheckAfter is the pause before a rank that seems to be awake is checked again: a sleeping
	// rank wakes for a moment once a second.
	recheckAfter = 2 * time.Millisecond
	// maxQuestions bounds the waiting questions of the leader: one for each job that may be idle.
	// The leader asks again if there was no room.
	maxQuestions = 64
)

// Job is a job's part on this node.
type Job interface {
	ID() uint64
	IsOver() bool
	// Use calls do with the job's part here, unless the job is forgotten: its container may be
	// closed by then. do must not wait or call the job.
	Use(do func(Part))
	// Send sends the leader a message about the job.
	Send(*agentpb.AgentMessage)
	// Examine has what could wake the job here found out, without waiting for it: the answer, if
	// there is one, is for Watcher.Examined. own are the job's images and sockets.
	Examine(request uint64, own wakesource.Own)
}

// Part is a job's part on this node.
type Part interface {
	// Cut fills in the state of the job's channels. Own returns the inodes of their images and
	// sockets.
	Cut(*node.Cut)
	Own() wakesource.Own
	// Ran returns how long its gang has been on until now, by the machine's monotonic clock.
	Ran(now int64) time.Duration
	// CPUTime returns the CPU time of its processes, and Pids lists them.
	CPUTime() (time.Duration, error)
	Pids() ([]int, error)
	// InGroup reports whether the processes are in a control group: then CPUTime is cheap.
	InGroup() bool
}

// Options are the options of New: the parts of the node that the watcher needs.
type Options struct {
	// Jobs lists the jobs here; Job returns one of them, or nil.
	Jobs func() []Job
	Job  func(id uint64) Job
	// Connected reports whether there is a stream to the leader.
	Connected func() bool
	// Contexts counts the channels of all jobs here.
	Contexts func() int
	// ClusterTime converts an instant of the machine's monotonic clock.
	ClusterTime func(local int64) int64
}

// Watcher reports to the leader which jobs sleep. One goroutine runs it; only the methods that say
// so may be called by others.
type Watcher struct {
	options Options
	asked   chan *agentpb.AskCut
	found   chan finding
	asleep  atomic.Pointer[map[uint64]bool] // jobs without a turn, by the newest plan
	again   atomic.Bool                     // report all sleeping jobs again
	jobs    map[Job]*sleeper
}

// New returns a watcher without jobs.
func New(options Options) *Watcher {
	w := &Watcher{
		options: options,
		asked:   make(chan *agentpb.AskCut, maxQuestions),
		found:   make(chan finding, maxQuestions),
		jobs:    make(map[Job]*sleeper),
	}
	w.asleep.Store(&map[uint64]bool{})
	return w
}

// Ask queues a question of the leader; it does not wait. Any goroutine may call it.
func (w *Watcher) Ask(question *agentpb.AskCut) {
	select {
	case w.asked <- question:
	default:
	}
}

// finding is what could wake a job, "" if nothing can.
type finding struct {
	job, request uint64
	source       string
}

// Examined takes the answer to Job.Examine; it does not wait. Any goroutine may call it.
func (w *Watcher) Examined(job, request uint64, source string) {
	select {
	case w.found <- finding{job, request, source}:
	default: // the leader asks again
	}
}

// Planned records the jobs that have no turn by a plan. Any goroutine may call it.
func (w *Watcher) Planned(plan *agentpb.Plan) {
	asleep := make(map[uint64]bool, len(plan.GetAsleep()))
	for _, id := range plan.GetAsleep() {
		asleep[id] = true
	}
	w.asleep.Store(&asleep)
}

// ReportAgain reports all sleeping jobs on a new stream. Any goroutine may call it.
func (w *Watcher) ReportAgain() { w.again.Store(true) }

// Run watches until ctx ends.
func (w *Watcher) Run(ctx context.Context) {
	timer := time.NewTimer(checkForJobsEvery)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case question := <-w.asked:
			w.answer(question)
		case found := <-w.found:
			w.onFound(found)
		case <-timer.C:
			timer.Reset(realtime.UntilNext(w.checkAll())) // together with the agent's other periodic work
		}
	}
}

// checkAll checks all jobs with channels, and returns the time to the next check.
func (w *Watcher) checkAll() (next time.Duration) {
	if w.options.Contexts() == 0 || !w.options.Connected() {
		clear(w.jobs)
		return checkForJobsEvery
	}
	again, next := w.again.Swap(false), checkEvery
	for j := range w.jobs {
		if j.IsOver() {
			delete(w.jobs, j)
		}
	}
	for _, j := range w.options.Jobs() {
		s, doubtful := w.check(j)
		if s == nil {
			continue
		}
		if again && s.watch.Asleep() {
			w.report(j, s, nil)
		}
		switch {
		case doubtful:
			next = recheckAfter
		case s.inGroup && (*w.asleep.Load())[j.ID()]:
			next = min(next, checkAsleepEvery)
		}
	}
	return next
}

// check checks a job, and reports when it has fallen asleep or woken; s is nil if it has no ranks
// with channels. A doubtful check should be repeated soon.
func (w *Watcher) check(j Job) (s *sleeper, doubtful bool) {
	s, sample, ok := w.sample(j)
	doubtful = ok && s.watch.Doubts(&sample)
	if ok && !doubtful {
		w.update(j, s, sample)
	}
	return s, doubtful
}

// settle is like check, but leaves no doubt whether the job is awake.
func (w *Watcher) settle(j Job) *sleeper {
	s, _ := w.check(j)
	if s == nil || !s.watch.InDoubt() {
		return s
	}
	time.Sleep(recheckAfter) // without the job's lock
	s, sample, _ := w.sample(j)
	if s != nil {
		w.update(j, s, sample) // without a sample it is awake
	}
	return s
}

// sample takes a sample of a job. s is nil if the job has no ranks with channels; ok is false if
// there is nothing new.
func (w *Watcher) sample(j Job) (s *sleeper, sample quiescence.Sample, ok bool) {
	if s = w.jobs[j]; s == nil {
		s = &sleeper{}
	}
	sample, ok = s.sample(j)
	if sample.Ranks == 0 && w.jobs[j] == nil {
		return nil, sample, false
	}
	w.jobs[j] = s
	return s, sample, ok
}

func (w *Watcher) update(j Job, s *sleeper, sample quiescence.Sample) {
	if s.watch.Update(sample) {
		w.report(j, s, nil)
	}
}
