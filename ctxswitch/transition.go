package ctxswitch

import (
	"slices"
	"time"
)

// decide draws the conclusions from what is known at the instant now. It holds
// every transition of the machine; DESIGN.md draws them. Each step orders its
// work from all jobs that have part in it (job.due), and is over when all have
// answered or its time is up; the stop of jobs without contexts may last beyond
// the steps after it. A step in which no job has part is passed in the same call.
func (m *Machine) decide(now int64) {
	if (m.aim(now) || m.disturbed) && m.state != Steady {
		// The row this switch was made for is no longer the one that is on, or
		// an outgoing job runs after all: letting the incoming go now would run
		// them against another gang. What has been done stays done, and the
		// switch to the right row goes on from it.
		m.finish(now, m.record.Running == 0)
	}
	m.disturbed = false
	for {
		if m.state > Stop {
			m.waits(now, Stop) // who is late by now is noted in any step
		}
		switch m.state {

		// Steady: the jobs of the row that is on run, all others stand still,
		// but for those that were late to stop. Ends when a job is not as the
		// row wants it: another row came on, or a job came.
		case Steady:
			if !m.cur.present || m.settled() {
				m.caused = false
				return
			}
			m.begin(now)

		// Revoke: the outgoing jobs' contexts are being taken from their
		// processes, which still run. Comes first, for a process stopped within
		// a critical section would keep the lock until its next slice.
		case Revoke:
			if m.waits(now, Revoke) {
				return
			}
			m.enter(now, Stop)

		// Stop: the outgoing jobs are being frozen. Nothing waits for the answers
		// but the end of the switch, unless a job may run on for long: contexts are
		// out of the processes' hands already. A job that is late is counted and
		// left to the kernel.
		case Stop:
			if !m.together() && m.waits(now, Stop) {
				return
			}
			m.enter(now, Flush)

		// Flush: what the outgoing jobs have sent is being answered. Comes after
		// revoke, so that nothing new is sent meanwhile.
		case Flush:
			if m.waits(now, Flush) {
				return
			}
			m.enter(now, Save)

		// Save: the outgoing contexts leave their channels. Comes after flush,
		// since answers can only come to a context that is on its channel.
		case Save:
			if m.waits(now, Save) {
				return
			}
			m.enter(now, Load)

		// Load: the incoming contexts take the channels, which save has emptied.
		// A job may have come meanwhile for which the stop is to be awaited.
		case Load:
			if m.waits(now, Load) || !m.together() && m.waits(now, Stop) {
				return
			}
			m.enter(now, Go)

		// Go: the incoming jobs are being thawed, or launched if it is their
		// first time. Comes last, so that they find their network in place. Ends
		// when they run and the outgoing stand still: both are to be known before
		// the next switch.
		case Go:
			going, stopping := m.waits(now, Go), m.waits(now, Stop)
			if !going {
				m.running(now)
			}
			if going || stopping {
				return
			}
			m.finish(now, false)
		}
	}
}

// aim finds the row that is on, and marks the jobs it wants. It returns true
// if it now wants another set of the jobs known than before.
func (m *Machine) aim(now int64) (changed bool) {
	waited := false // the plan was here before its origin
	fresh := false
	for len(m.coming) > 0 && m.coming[0].begun(now) {
		m.cur, fresh = m.coming[0], true
		m.coming = slices.Delete(m.coming, 0, 1)
		waited = m.cur.accepted < m.cur.local(m.cur.plan.Origin)
	}
	if !m.cur.present {
		return false
	}
	var on Slot
	switch {
	case !fresh:
		on = m.cur.find(now, m.slot)
		if on == m.slot {
			return false
		}
		m.missed(m.cur.passed(m.slot, on))
	default:
		on = m.cur.plan.At(m.cur.cluster(now))
		if waited {
			m.missed(m.cur.passed(Slot{Pos: -1}, on))
		}
	}
	m.slot = on
	if !m.mark() {
		return false
	}
	m.caused, m.cause, m.planned = true, CauseBoundary, m.cur.local(on.Start)
	if m.planned < m.cur.accepted {
		m.cause, m.planned = CausePlan, m.cur.accepted
	}
	return true
}

// missed counts the boundaries that were passed on the way to the present row.
func (m *Machine) missed(passed int64) {
	if passed > 1 {
		m.counters[CountMissedBoundaries] += uint64(passed - 1)
	}
}

// mark sets job.want from the row that is on. Both lists are in order.
func (m *Machine) mark() (changed bool) {
	var wanted []JobID
	if m.slot.Pos >= 0 {
		wanted = m.cur.plan.Rows[m.slot.Pos].Jobs
	}
	for i := range m.jobs {
		j := &m.jobs[i]
		for len(wanted) > 0 && wanted[0] < j.id {
			wanted = wanted[1:]
		}
		want := len(wanted) > 0 && wanted[0] == j.id
		changed = changed || want != j.want
		j.want = want
	}
	return changed
}

// settled says that every job is as the row wants it.
func (m *Machine) settled() bool {
	for i := range m.jobs {
		if !m.jobs[i].settled() {
			return false
		}
	}
	return true
}

// begin opens a switch.
func (m *Machine) begin(now int64) {
	if !m.caused {
		m.cause, m.planned = CauseJob, now
	}
	m.caused = false
	m.recordAt = (m.recordAt + 1) % keptRecords
	m.record = &m.records[m.recordAt]
	m.record.reset()
	m.record.Term, m.record.Version = m.cur.plan.Term, m.cur.plan.Version
	m.record.Slot, m.record.Offset = m.slot, m.cur.offset
	m.record.Cause, m.record.Planned = m.cause, m.planned
	m.enter(now, Revoke)
}

// enter goes on to step s and orders its work.
func (m *Machine) enter(now int64, s Step) {
	m.state = s
	if steps[s].network && m.networked == 0 {
		return
	}
	for i := range m.jobs {
		if j := &m.jobs[i]; j.due(s) {
			m.record.Steps.add(s)
			m.record.Begin[s] = now
			m.order(now, j, s)
		}
	}
	if s == Go {
		m.launch(now)
	}
}

// order gives the order of step s to a job, and makes the step wait for it.
func (m *Machine) order(now int64, j *job, s Step) {
	if s == Stop && j.phase == PhaseStopping {
		// Ordered by a switch that was broken off; the answer is still to come.
		m.await(j, Stop, j.stopBy)
		return
	}
	m.seq++
	by := now + int64(m.timeout(s))
	m.await(j, s, by)
	m.effects = append(m.effects, Effect{Kind: steps[s].effect, Step: s, Job: j.id, Seq: m.seq, By: by})
	if s != Stop {
		j.seq = m.seq
	}
	switch s {
	case Revoke:
		j.bound = revoked
	case Stop:
		j.phase, j.mixed, j.stopSeq, j.stopAt, j.stopBy = PhaseStopping, false, m.seq, now, by
		j.ran += time.Duration(now - j.since)
		m.record.Out = append(m.record.Out, j.id)
	case Save:
		j.bound = saved
	case Load:
		j.bound = live
	case Go:
		if j.phase == PhaseStopping && !j.late && now >= j.stopAt+int64(StopTimeout) {
			m.lateFreeze(j)
		}
		m.run(now, j)
		m.record.In = append(m.record.In, j.id)
	case Steady, Flush:
	}
}

// launch orders the first go of the jobs whose row is on for the first time,
// after the thaws: starting processes takes longer than a switch may, so
// nothing waits for it.
func (m *Machine) launch(now int64) {
	for i := range m.jobs {
		j := &m.jobs[i]
		if !j.want || !j.connected() || j.phase != PhasePrepared {
			continue
		}
		m.effects = append(m.effects, Effect{Kind: EffectLaunch, Job: j.id})
		m.counters[CountLaunches]++
		m.run(now, j)
		m.record.Launched = append(m.record.Launched, j.id)
	}
}

// run notes that a job has been let go.
func (m *Machine) run(now int64, j *job) {
	j.phase, j.mixed, j.late, j.since = PhaseRunning, false, false, now
	j.slices++
}

// timeout is how long an answer in step s is waited for.
func (m *Machine) timeout(s Step) time.Duration {
	if s == Stop && m.together() {
		return LooseStopTimeout
	}
	return steps[s].timeout
}

// together says that the steps after the stop need not wait for it: no job that
// has part in the switch may run on for long. Contexts are out of the hands of
// their processes since the revoke.
func (m *Machine) together() bool {
	for i := range m.jobs {
		if j := &m.jobs[i]; j.awaited && !j.settled() {
			return false
		}
	}
	return true
}

// await makes step s wait for the job, until by at the latest.
func (m *Machine) await(j *job, s Step, by int64) {
	if s == Stop {
		j.stopWaited, j.stopBy = true, by
	} else {
		j.waiting, j.by = s, by
	}
	m.pending[s]++
}

// waiting says that any job's answer is awaited.
func (m *Machine) waiting() bool { return m.pending != [stepCount]int{} }

// patience is the first instant at which a job's answer is no longer awaited.
func (m *Machine) patience() int64 {
	at, tight := Never, m.pending[Stop] > 0 && !m.together()
	for i := range m.jobs {
		j := &m.jobs[i]
		if by, ok := j.awaits(Stop); ok {
			at = min(at, j.tightened(by, tight))
		}
		if by, ok := j.awaits(j.waiting); ok {
			at = min(at, by)
		}
	}
	return at
}

// tightened is until when a stop is waited for. One that was ordered when nobody had to
// wait for it may have others waiting now.
func (j *job) tightened(by int64, tight bool) int64 {
	if tight {
		return min(by, j.stopAt+int64(StopTimeout))
	}
	return by
}

// waits says whether step s is still to be waited for. A job whose time is up
// no longer is, which is noted.
func (m *Machine) waits(now int64, s Step) bool {
	if m.pending[s] == 0 {
		return false
	}
	tight := s == Stop && !m.together()
	for i := range m.jobs {
		j := &m.jobs[i]
		if by, ok := j.awaits(s); ok && now >= j.tightened(by, tight) {
			m.record.LateSteps.add(s)
			m.answered(now, j, s)
			m.late(j, s)
		}
	}
	return m.pending[s] > 0
}

// late notes that a job did not answer step s in time.
func (m *Machine) late(j *job, s Step) {
	if s != Stop {
		m.counters[CountLateSteps]++
		return
	}
	m.record.Late = append(m.record.Late, j.id)
	j.late = true
	m.lateFreeze(j)
}

// lateFreeze counts a freeze of which nothing was heard in time, be it that the
// job's own row has come on meanwhile.
func (m *Machine) lateFreeze(j *job) {
	m.counters[CountLateFreezes]++
	j.lateFreezes++
	j.lateStreak++
	if j.lateStreak == WarnAfter && !j.warned {
		j.warned = true
		m.counters[CountWarnings]++
		m.effects = append(m.effects, Effect{Kind: EffectWarn, Job: j.id, Late: j.lateStreak})
	}
}

// running notes since when all incoming jobs run, if there are any.
func (m *Machine) running(now int64) {
	if r := m.record; r.Running == 0 && len(r.In)+len(r.Launched) > 0 {
		r.Running = now
	}
}

// finish closes the switch in progress and hands out its record.
func (m *Machine) finish(now int64, superseded bool) {
	r := m.record
	r.Finished, r.Superseded = now, superseded
	m.forgetWaits(now)
	if superseded {
		m.counters[CountSuperseded]++
	} else {
		m.counters[CountSwitches]++
		if r.Running == 0 {
			r.Running = now
		}
	}
	m.effects = append(m.effects, Effect{Kind: EffectRecord, Record: r})
	m.state, m.record = Steady, nil
}

// forgetWaits ends what is left of a switch's waiting. A freeze that is under
// way is taken up again by the next one (see job.due).
func (m *Machine) forgetWaits(now int64) {
	for i := range m.jobs {
		m.forgetWait(now, &m.jobs[i])
	}
}
