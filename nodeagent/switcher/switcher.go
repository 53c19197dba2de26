package switcher

import (
	"context"
	"runtime"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"score/ctxswitch"
	"score/nodeagent/realtime"
)

// How often is looked at a job that has been ordered to stop: at once, then
// after the first pause, then after twice as long each time. Processes on other
// CPUs take some ten microseconds. Where the incoming job does not wait for the
// stop a look only takes time from it, so there are but few.
const (
	eagerPause = 20 * time.Microsecond
	loosePause = time.Millisecond
	lastPause  = 10 * time.Millisecond
)

// Options of a Switcher.
type Options struct {
	// Realtime asks for real-time priority. Where it is refused the thread runs
	// like any other.
	Realtime bool
	// Logger default: none.
	Logger *zap.Logger
}

// Switcher is the switching thread of one node, and the way to speak to it.
type Switcher struct {
	options Options
	logger  *zap.Logger
	inbox   inbox
	clock   clock
	sleeper *realtime.Sleeper
	notices chan Notice
	active  atomic.Bool // something was measured since the last report
	stopped atomic.Bool // Run shall return

	// What follows belongs to the thread.
	machine     *ctxswitch.Machine
	jobs        map[ctxswitch.JobID]*job
	limited     []*job             // those with a time limit
	todo        []ctxswitch.Effect // in order; done up to done
	done        int
	lead        lead
	ticked      int64 // when the machine's last deadline came
	freezing    []freezing
	lookAt      int64         // when they are looked at next
	pause       time.Duration // from that look to the one after
	report      *Report       // asked for, not yet filled
	node        *ctxswitch.Measures
	departed    []JobReport
	boundaries  ring
	flushes     Flushes // since the last report
	counted     [len(ctxswitch.CounterTable)]uint64
	lostNotices uint64
}

// New makes a switcher without plan and jobs. Run must be called, or nothing
// is ever answered.
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
		clock:      newClock(),
		sleeper:    sleeper,
		notices:    make(chan Notice, maxNotices),
		machine:    ctxswitch.New(),
		jobs:       make(map[ctxswitch.JobID]*job),
		node:       new(ctxswitch.Measures),
		boundaries: ring{slots: newBoundaries()[:MaxBoundaries]},
	}, nil
}

// Notices is what the thread has to say.
func (s *Switcher) Notices() <-chan Notice { return s.notices }

// Plan hands over a plan; of those seen only the newest is obeyed. The plan
// must not be changed afterwards.
func (s *Switcher) Plan(p *ctxswitch.Plan) { s.post(&letter{event: ctxswitch.PlanArrived(p)}) }

// Offset tells by how much the clock of that term's leader is ahead.
func (s *Switcher) Offset(term uint64, offset int64) {
	s.post(&letter{event: ctxswitch.OffsetLearnt(term, offset)})
}

// Add tells of a job that is prepared and has no process yet.
func (s *Switcher) Add(j Job) *Handle {
	added := newJob(j)
	event := ctxswitch.JobAdded(j.ID, 0)
	if j.Signals {
		event = event.StopAwaited()
	}
	s.post(&letter{event: event, job: added})
	return &added.handle
}

// Adopt tells of a job that a former agent has launched, and whether its
// processes have been ordered to stop. Its Launch is not called.
func (s *Switcher) Adopt(j Job, frozen bool) *Handle {
	adopted := newJob(j)
	adopted.handle.on.Store(!frozen)
	event := ctxswitch.JobAdopted(j.ID, 0, frozen)
	if j.Signals {
		event = event.StopAwaited()
	}
	s.post(&letter{event: event, job: adopted})
	return &adopted.handle
}

// Launched tells that all processes of the job exist.
func (s *Switcher) Launched(id ctxswitch.JobID) {
	s.post(&letter{event: ctxswitch.JobLaunched(id)})
}

// Remove forgets a job, of which no process is left or shall be left. After
// the answer the thread does not touch its container. The answer always comes,
// also when the thread has ended.
func (s *Switcher) Remove(id ctxswitch.JobID) <-chan Usage {
	usage := make(chan Usage, 1)
	l := &letter{event: ctxswitch.JobRemoved(id), usage: usage}
	if !s.post(l) {
		l.answer()
	}
	return usage
}

// post wakes the thread only when it is not yet about to read.
func (s *Switcher) post(l *letter) bool {
	first, ok := s.inbox.put(l)
	if first {
		s.wake()
	}
	return ok
}

// Run is the thread. It returns when ctx has ended; it thaws nothing, so that
// a job that stands still can be killed standing still.
func (s *Switcher) Run(ctx context.Context) {
	// Never unlocked: the thread ends with the goroutine, and its priority
	// with it.
	runtime.LockOSThread()
	defer s.end()
	stop := context.AfterFunc(ctx, func() {
		s.stopped.Store(true)
		s.wake()
	})
	defer stop()
	s.raisePriority()
	for !s.stopped.Load() {
		s.round()
		if s.inbox.empty() {
			s.sleep(s.deadline())
		}
	}
}

// raisePriority goes on without what is not permitted.
func (s *Switcher) raisePriority() {
	if !s.options.Realtime {
		return
	}
	if err := realtime.SetFIFO(realtime.SwitchPriority); err != nil {
		s.logger.Info("switching without real-time priority", zap.Error(err))
	}
}

// sleep returns at the instant, or early for a letter.
func (s *Switcher) sleep(instant int64) {
	var err error
	switch instant {
	case ctxswitch.Never:
		err = s.sleeper.Forever()
	case s.machine.Deadline():
		err = s.sleepPunctually(instant)
	default:
		_, _, err = s.sleeper.Until(instant)
	}
	if err != nil {
		// No descriptor of ours can fail so; not to spin is all that is left.
		s.logger.Error("the switching thread cannot sleep", zap.Error(err))
		time.Sleep(lastPause)
	}
}

// sleepPunctually sleeps until the instant of a switch: it wakes a little early
// and spins for the rest. There is such an instant only while several jobs take
// turns, so that a lone one never pays for it.
func (s *Switcher) sleepPunctually(instant int64) error {
	late, woken, err := s.sleeper.Until(s.lead.before(s.ticked, instant))
	if err != nil || woken {
		return err
	}
	s.lead.woke(late)
	for s.clock.now() < instant && s.inbox.empty() {
		continue // no timer is as exact as this
	}
	return nil
}

// wake ends the thread's sleep. An error means that it has ended.
func (s *Switcher) wake() { _ = s.sleeper.Wake() }

// end refuses what comes later and answers what nobody will act on.
func (s *Switcher) end() {
	for l := s.inbox.close(); l != nil; l = l.next {
		l.answer()
	}
	if s.report != nil {
		s.report.filled <- struct{}{}
	}
	s.sleeper.Close()
}

// round does everything that is due now.
func (s *Switcher) round() {
	for l := s.inbox.take(); l != nil; {
		next := l.next
		l.next = nil
		s.read(l)
		l = next
	}
	if s.clock.now() >= s.machine.Deadline() {
		s.tick()
	}
	if len(s.freezing) > 0 && s.clock.now() >= s.lookAt {
		s.look()
		s.carryOut()
	}
	s.lookAtLimits()
	s.fillReport()
}

// tick tells the machine that its deadline has come. What stands still by now
// is told first: it may be the patience with a freeze that is over.
func (s *Switcher) tick() {
	if len(s.freezing) > 0 {
		s.look()
	}
	s.ticked = s.clock.now()
	s.handle(s.ticked, ctxswitch.Tick())
}

// read acts on one letter.
func (s *Switcher) read(l *letter) {
	now := s.clock.now()
	if l.report != nil {
		s.report = l.report
		return
	}
	switch l.event.Kind {
	case ctxswitch.EventJobAdded, ctxswitch.EventJobAdopted:
		if s.jobs[l.job.ID] != nil {
			return
		}
		s.jobs[l.job.ID] = l.job
		s.active.Store(true)
		if l.job.TimeLimit > 0 {
			s.limited = append(s.limited, l.job)
		}
	case ctxswitch.EventJobRemoved:
		l.usage <- s.forget(l.event.Job, now)
	case ctxswitch.EventJobConnected:
		if j := s.jobs[l.event.Job]; j != nil {
			j.network = l.network
		}
	case ctxswitch.EventDone:
		s.countFlushes(l.event.Job, l.flushes)
	default:
	}
	s.handle(now, l.event)
}

// deadline is when round must be called next, by the machine's clock.
func (s *Switcher) deadline() int64 {
	at := s.machine.Deadline()
	if len(s.freezing) > 0 {
		at = min(at, s.lookAt)
	}
	if s.report != nil {
		at = min(at, s.clock.now()+collectAhead.Nanoseconds())
	}
	return min(at, s.nextLimit())
}

// lookAtLimits tells of jobs that have been on for as long as they may.
func (s *Switcher) lookAtLimits() {
	for _, j := range s.limited {
		if j.told {
			continue
		}
		now := s.clock.now()
		if s.usage(j, now).Ran >= j.TimeLimit {
			j.told = true
			s.tell(Notice{Kind: NoticeTimeUp, Job: j.ID})
		}
	}
}

// nextLimit is the instant at which the first job comes to its limit if it
// goes on running.
func (s *Switcher) nextLimit() int64 {
	at := ctxswitch.Never
	for _, j := range s.limited {
		now := s.clock.now()
		status, ok := s.machine.Job(j.ID, now)
		if ok && !j.told && status.Phase == ctxswitch.PhaseRunning {
			at = min(at, now+int64(j.TimeLimit-status.Ran))
		}
	}
	return at
}

func (s *Switcher) usage(j *job, now int64) Usage {
	status, ok := s.machine.Job(j.ID, now)
	if !ok {
		return Usage{}
	}
	return Usage{Ran: status.Ran, Slices: status.Slices, LateFreezes: status.LateFreezes, Switching: j.switching}
}

// fillReport waits for a moment in which no switch is due.
func (s *Switcher) fillReport() {
	if s.report == nil {
		return
	}
	now := s.clock.now()
	if s.machine.Deadline()-now < collectAhead.Nanoseconds() {
		return
	}
	s.fill(s.report, now)
	s.report = nil
}

// forget takes a job out of the thread's tables; the machine is told after.
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

// maxDeparted bounds the jobs whose last measurements wait for a report that
// nobody asks for.
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
