package switcher

import (
	"context"
	"errors"
	"fmt"
	"score/ctxswitch"
	"score/nodeagent/realtime"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sys/unix"
)

// The pauses between checks whether a job has stopped. If another job waits for that, the thread
// checks at once, since processes on other CPUs take some ten microseconds to stop, then after the
// eager pause, which doubles each time. If no job waits, a check only costs the incoming job 25 us
// of its slice for a timer and two CPU switches: the thread checks at the next planned instant or,
// in long slices, after the loose pause.
const (
	eagerPause = 20 * time.Microsecond
	loosePause = 25 * time.Millisecond
	lastPause  = 10 * time.Millisecond
)

// Options of a Switcher.
type Options struct {
	// Raise gives the calling thread real-time priority. If it is nil or fails, the thread runs
	// like any other.
	Raise func() error
	// Channels is the number of contexts that may stay on their channels, including those of jobs
	// that are off; see ctxswitch.Config.
	Channels int
	// Logger default: none.
	Logger *zap.Logger
}

// Switcher is the switching thread of one node with its interface to other goroutines.
type Switcher struct {
	options Options
	logger  *zap.Logger
	inbox   inbox
	sleeper *realtime.Sleeper
	notices chan Notice
	active  atomic.Bool // something was measured since the last report
	stopped atomic.Bool // Run shall return

	// The following fields belong to the thread.
	machine     *ctxswitch.Machine
	jobs        map[ctxswitch.JobID]*job
	limited     []*job             // jobs with a time limit
	todo        []ctxswitch.Effect // in order; effects before done are carried out
	done        int
	lead        lead
	home        unix.CPUSet // the CPUs of the thread
	ticked      int64       // when the machine's last deadline came
	freezing    []freezing
	checkAt     int64         // when the freezing jobs are checked next
	pause       time.Duration // between that check and the following one
	report      *Report       // requested, not yet filled
	node        *ctxswitch.Measures
	departed    []JobReport
	boundaries  ring
	flushes     Flushes // since the last report
	counted     [len(ctxswitch.CounterTable)]uint64
	lostNotices uint64
}

// New makes a switcher without plan and jobs. Commands are answered only while Run runs.
func New(options Options) (*Switcher, error) {
	if options.Logger == nil {
		options.Logger = zap.NewNop()
	}
	sleeper, err := realtime.NewSleeper()
	if err != nil {
		return nil, err
	}
	return &Switcher{
		options:    options,
		logger:     options.Logger,
		sleeper:    sleeper,
		notices:    make(chan Notice, maxNotices),
		machine:    ctxswitch.New(ctxswitch.Config{Channels: options.Channels}),
		jobs:       make(map[ctxswitch.JobID]*job),
		node:       new(ctxswitch.Measures),
		boundaries: ring{slots: newBoundaries()[:MaxBoundaries]},
	}, nil
}

// Notices returns the channel of the thread's notices.
func (s *Switcher) Notices() <-chan Notice { return s.notices }

// Plan gives a plan to the thread, which obeys only the newest. The caller must not change the plan
// after that.
func (s *Switcher) Plan(p *ctxswitch.Plan) { s.post(&command{event: ctxswitch.PlanArrived(p)}) }

// Offset sets how far the clock of this term's leader is ahead.
func (s *Switcher) Offset(term uint64, offset int64) {
	s.post(&command{event: ctxswitch.OffsetChanged(term, offset)})
}

// Add adds a prepared job without processes.
func (s *Switcher) Add(j Job) *Handle {
	added := newJob(j)
	event := ctxswitch.JobAdded(j.ID, 0)
	if j.Signals {
		event = event.StopAwaited()
	}
	if j.NotPlannedYet {
		event = event.NotPlannedYet()
	}
	s.post(&command{event: event, job: added})
	return &added.handle
}

// Adopt adds a job that a former agent has launched; frozen means that its processes were ordered
// to stop. Launch is not called.
func (s *Switcher) Adopt(j Job, frozen bool) *Handle {
	adopted := newJob(j)
	adopted.handle.on.Store(!frozen)
	event := ctxswitch.JobAdopted(j.ID, 0, frozen)
	if j.Signals {
		event = event.StopAwaited()
	}
	s.post(&command{event: event, job: adopted})
	return &adopted.handle
}

// Launched reports that all processes of the job exist.
func (s *Switcher) Launched(id ctxswitch.JobID) {
	s.post(&command{event: ctxswitch.JobLaunched(id)})
}

// Respawned reports that a process of a job was forked later than the others: signals to stop have
// not reached it.
func (s *Switcher) Respawned(id ctxswitch.JobID) {
	s.post(&command{event: ctxswitch.JobRespawned(id)})
}

// Remove removes a job whose processes have ended or must not continue. After the answer the thread
// no longer touches the job's container. The answer always comes, even after the thread has ended.
func (s *Switcher) Remove(id ctxswitch.JobID) <-chan Usage {
	usage := make(chan Usage, 1)
	l := &command{event: ctxswitch.JobRemoved(id), usage: usage}
	if !s.post(l) {
		l.answer()
	}
	return usage
}

// Alive returns nil once the thread has answered.
func (s *Switcher) Alive(ctx context.Context) error {
	answer := make(chan struct{})
	if !s.post(&command{alive: answer}) {
		return errEnded
	}
	select {
	case <-answer:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("the switching thread stands still: %w", context.Cause(ctx))
	}
}

// errEnded means that Run has returned.
var errEnded = errors.New("the switching thread has ended")

// post queues a command, and wakes the thread if it is not yet about to read.
func (s *Switcher) post(c *command) bool {
	first, ok := s.inbox.put(c)
	if first {
		s.wake()
	}
	return ok
}

// execute carries out one command.
func (s *Switcher) execute(c *command) {
	if c.alive != nil {
		close(c.alive)
		return
	}
	now := realtime.Now()
	if c.report != nil {
		s.report = c.report
		return
	}
	switch c.event.Kind {
	case ctxswitch.EventJobAdded, ctxswitch.EventJobAdopted:
		if s.jobs[c.job.ID] != nil {
			return
		}
		s.jobs[c.job.ID] = c.job
		s.active.Store(true)
		if c.job.TimeLimit > 0 {
			s.limited = append(s.limited, c.job)
		}
	case ctxswitch.EventJobRemoved:
		c.usage <- s.forget(c.event.Job, now)
	case ctxswitch.EventJobConnected:
		if j := s.jobs[c.event.Job]; j != nil {
			j.network = c.network
			if j.handle.On() {
				j.resume()
			} else {
				j.pause()
			}
		}
	case ctxswitch.EventDone:
		s.countFlushes(c.event.Job, c.flushes)
	default:
	}
	s.handle(now, c.event)
}

// fillReport fills a requested report if no switch is due soon.
func (s *Switcher) fillReport() {
	if s.report == nil {
		return
	}
	now := realtime.Now()
	if s.machine.Deadline()-now < collectAhead.Nanoseconds() {
		return
	}
	s.fill(s.report, now)
	s.report = nil
}

// forget removes a job from the thread's tables, and then from the machine.
func (s *Switcher) forget(id ctxswitch.JobID, now int64) Usage {
	j := s.jobs[id]
	if j == nil {
		return Usage{}
	}
	usage := s.usage(j, now)
	delete(s.jobs, id)
	s.limited = without(s.limited, func(other *job) bool { return other == j })
	s.freezing = without(s.freezing, func(f freezing) bool { return f.job == j })
	switch {
	case !j.dirty:
		emptyMeasures.Put(j.measures)
	case len(s.departed) < maxDeparted:
		s.departed = append(s.departed, JobReport{ID: id, Measures: j.measures, Usage: usage, Flushes: j.flushes, departed: true})
	}
	return usage
}

// maxDeparted bounds the removed jobs whose last measurements wait for a report.
const maxDeparted = 1024

func without[T any](list []T, unwanted func(T) bool) []T {
	kept := list[:0]
	for _, v := range list {
		if !unwanted(v) {
			kept = append(kept, v)
		}
	}
	clear(list[len(kept):])
	return kept
}
