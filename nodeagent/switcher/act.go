package switcher

import (
	"score/ctxswitch"
	"score/nodeagent/realtime"
	"score/scored/failpoint"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// stepPoints holds the failpoints before a step's effect is carried out, and before its end is
// reported to the machine.
var stepPoints = [...]struct{ begin, end failpoint.Point }{
	ctxswitch.Revoke: {failpoint.SwitchRevokeBegin, failpoint.SwitchRevokeEnd},
	ctxswitch.Stop:   {failpoint.SwitchStopBegin, failpoint.SwitchStopEnd},
	ctxswitch.Flush:  {failpoint.SwitchFlushBegin, failpoint.SwitchFlushEnd},
	ctxswitch.Save:   {failpoint.SwitchSaveBegin, failpoint.SwitchSaveEnd},
	ctxswitch.Load:   {failpoint.SwitchLoadBegin, failpoint.SwitchLoadEnd},
	ctxswitch.Go:     {failpoint.SwitchGoBegin, failpoint.SwitchGoEnd},
}

// handle gives the machine an event and carries out its effects, and those that follow.
func (s *Switcher) handle(now int64, event ctxswitch.Event) {
	s.order(now, event)
	s.carryOut()
}

func (s *Switcher) carryOut() {
	for s.done < len(s.todo) {
		effect := s.todo[s.done]
		s.done++
		s.act(effect)
	}
	s.todo, s.done = s.todo[:0], 0
}

// order appends the effects of an event. Records are read at once, since they
// are valid only until the machine's next event.
func (s *Switcher) order(now int64, event ctxswitch.Event) {
	if event.Kind == ctxswitch.EventDone {
		_ = failpoint.Hit(stepPoints[event.Step].end) // cannot fail
	}
	for _, effect := range s.machine.Handle(now, event) {
		if effect.Kind == ctxswitch.EffectRecord {
			s.observe(effect.Record)
			continue
		}
		s.todo = append(s.todo, effect)
	}
}

// act carries out one effect. It drops an effect for a removed job: the machine knows of the
// removal, or is about to.
func (s *Switcher) act(effect ctxswitch.Effect) {
	j := s.jobs[effect.Job]
	if j == nil {
		return
	}
	if effect.Step != ctxswitch.Steady {
		_ = failpoint.Hit(stepPoints[effect.Step].begin) // cannot fail
	}
	switch effect.Kind {
	case ctxswitch.EffectFreeze:
		s.freezing = without(s.freezing, func(f freezing) bool { return f.job == j })
		begin := realtime.Now()
		s.command(j, j.Container.Freeze)
		now := realtime.Now()
		j.handle.noteStopped(now)
		j.pause()
		s.freezing = append(s.freezing, newFreezing(effect, j, time.Duration(now-begin)))
		s.firstCheck()
	case ctxswitch.EffectThaw:
		s.reportCost(j)
		s.freezing = without(s.freezing, func(f freezing) bool { return f.job == j })
		begin := realtime.Now()
		s.command(j, j.Container.Thaw)
		now := realtime.Now()
		j.thawed = time.Duration(now - begin)
		j.handle.noteOn(now)
		j.resume()
		s.order(now, ctxswitch.Done(effect))
	case ctxswitch.EffectLaunch:
		j.handle.noteOn(realtime.Now())
		j.resume()
		err := failpoint.Hit(failpoint.LaunchBegin)
		if err == nil {
			err = j.Launch()
		}
		if err != nil {
			s.notify(Notice{Kind: NoticeLaunchFailed, Job: j.ID, Err: err})
		}
	case ctxswitch.EffectWarn:
		s.notify(Notice{Kind: NoticeWarn, Job: j.ID, Late: effect.Late})
	case ctxswitch.EffectCostly:
		s.notify(Notice{Kind: NoticeCostly, Job: j.ID, Cost: effect.Cost, Slice: effect.Slice})
	case ctxswitch.EffectRevoke, ctxswitch.EffectFlush, ctxswitch.EffectSave, ctxswitch.EffectLoad:
		s.orderNetwork(j, effect)
	case ctxswitch.EffectNone, ctxswitch.EffectRecord:
	}
}

// firstCheck sets the time of the first check whether a job has stopped.
func (s *Switcher) firstCheck() {
	if s.machine.State() == ctxswitch.Stop {
		s.checkAt, s.pause = 0, eagerPause
		return
	}
	s.checkAt, s.pause = realtime.Now()+loosePause.Nanoseconds(), lastPause
}

// checkStopped reports the jobs that were ordered to stop and stand still by now. It does not wait,
// so that the thread handles commands and boundaries meanwhile.
func (s *Switcher) checkStopped() {
	for {
		i := slices.IndexFunc(s.freezing, func(f freezing) bool { return f.job.Container.WaitFrozen(time.Time{}) == nil })
		if i < 0 {
			break
		}
		cost := s.freezing[i].cost()
		s.freezing[i].job.costly = cost >= costlyStop
		stopped := ctxswitch.Done(s.freezing[i].effect).Costing(cost)
		s.freezing = slices.Delete(s.freezing, i, i+1)
		s.order(realtime.Now(), stopped)
	}
	s.checkAt = realtime.Now() + s.pause.Nanoseconds()
	s.pause = min(2*s.pause, lastPause)
}

// command gives an order to the job's container. One that takes long is given on one of the job's
// own CPUs: on another it would take time from a gang that is on there.
func (s *Switcher) command(j *job, order func() error) {
	bound := j.costly && len(j.CPUs) > 0 && s.home.Count() > 0 && unix.SchedSetaffinity(0, &j.cpus) == nil
	s.noteFailure(j, order())
	if bound {
		_ = unix.SchedSetaffinity(0, &s.home) // the thread's own: it was permitted before
	}
}

// noteFailure gives notice, once for each job, that an order to a container failed. The machine
// notices by itself, since the confirmation does not come.
func (s *Switcher) noteFailure(j *job, err error) {
	if err == nil || j.failed {
		return
	}
	j.failed = true
	s.notify(Notice{Kind: NoticeFailed, Job: j.ID, Err: err})
}

// observe stores the measurements in a record.
func (s *Switcher) observe(r *ctxswitch.Record) {
	s.active.Store(true)
	s.node.Observe(r)
	s.observeJobs(r, r.Out)
	s.observeJobs(r, r.In)
	s.observeJobs(r, r.Launched)
	took, complete := r.Total()
	if r.Cause != ctxswitch.CauseBoundary || !complete {
		return
	}
	for _, id := range r.In {
		if j := s.jobs[id]; j != nil {
			j.switching += took
		}
	}
	b := s.boundaries.add()
	b.Version, b.Round, b.Pos = r.Version, r.Slot.Round, r.Slot.Pos
	b.Planned, b.Running = r.Planned+r.Offset, r.Running+r.Offset
	b.Out = append(b.Out[:0], r.Out...)
	b.In = append(append(b.In[:0], r.In...), r.Launched...)
}

func (s *Switcher) observeJobs(r *ctxswitch.Record, ids []ctxswitch.JobID) {
	for _, id := range ids {
		if j := s.jobs[id]; j != nil {
			j.measures.Observe(r)
			j.dirty = true
		}
	}
}
