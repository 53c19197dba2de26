package ctxswitch

import "slices"

// apply takes a fact into the tables. It decides nothing: what follows from
// the facts is found in transition.go.
func (m *Machine) apply(now int64, ev *Event) {
	switch ev.Kind {
	case EventTick:
	case EventPlan:
		m.onPlan(now, ev.Plan)
	case EventOffset:
		m.onOffset(now, ev.Term, ev.Offset)
	case EventJobAdded:
		m.add(job{id: ev.Job, contexts: ev.Contexts, awaited: ev.Awaited, phase: PhasePrepared, want: m.wants(ev.Job)})
	case EventJobRespawned:
		m.onRespawned(now, ev.Job)
	case EventJobAdopted:
		m.onAdopted(now, ev)
	case EventJobLaunched:
		m.onLaunched(now, ev.Job)
	case EventJobRemoved:
		m.remove(now, ev.Job)
	case EventDone:
		m.onDone(now, ev)
	case EventJobConnected:
		m.onConnected(ev.Job, ev.Contexts)
	}
}

// onPlan accepts a plan if it is newer than any before. It comes into force
// when its origin is reached (see aim); until then those before stay in force,
// each from its own origin on, but those of the term that would begin later,
// and those of leaders before.
func (m *Machine) onPlan(now int64, p *Plan) {
	if p == nil || p.Validate() != nil {
		m.counters[CountRefusedEvents]++
		return
	}
	if !p.newerThan(m.seenTerm, m.seenVersion) {
		m.counters[CountStalePlans]++
		return
	}
	m.seenTerm, m.seenVersion = p.Term, p.Version
	next := newTimeline(p, now)
	switch {
	case m.clockKnown && m.clockTerm == p.Term:
		next.offset, next.clocked = m.clockOffset, true
	case m.cur.present && m.cur.plan.Term == p.Term:
		next.offset, next.clocked = m.cur.offset, true
	}
	m.coming = slices.DeleteFunc(m.coming, func(t timeline) bool {
		return t.plan.Term != p.Term || t.plan.Origin >= p.Origin
	})
	if len(m.coming) == maxComing {
		m.coming = m.coming[:maxComing-1]
	}
	m.coming = append(m.coming, next)
}

// onOffset sets the clock of the plans of that term, and keeps the newest
// for plans to come.
func (m *Machine) onOffset(now int64, term uint64, offset int64) {
	if offset <= -maxInstant || offset >= maxInstant {
		m.counters[CountRefusedEvents]++
		return
	}
	if m.cur.present && m.cur.plan.Term == term {
		m.cur.offset = offset
	}
	for i := range m.coming {
		next := &m.coming[i]
		if next.plan.Term != term {
			continue
		}
		if !next.clocked {
			next.clocked, next.accepted = true, now
		}
		next.offset = offset
	}
	if !m.clockKnown || term >= m.clockTerm {
		m.clockTerm, m.clockOffset, m.clockKnown = term, offset, true
	}
}

// onAdopted takes in a job that has processes already.
func (m *Machine) onAdopted(now int64, ev *Event) {
	j := job{id: ev.Job, contexts: ev.Contexts, awaited: ev.Awaited, launched: true, phase: PhaseRunning, since: now}
	if ev.Contexts > 0 {
		j.bound = live
	}
	if ev.Frozen {
		j.phase = PhaseStopped
		if ev.Contexts > 0 {
			j.bound = revoked
		}
	}
	j.want = m.wants(ev.Job)
	m.disturbed = m.add(j) && !j.want && !j.settled()
}

// onLaunched notes that no further process of the job is going to be born.
// Those born since its freeze was ordered may run, so it counts as running,
// and is stopped again if the row does not want it, or thawed if it does.
func (m *Machine) onLaunched(now int64, id JobID) {
	j := m.lookup(id)
	if j == nil || j.launched {
		return
	}
	j.launched = true
	m.moreRun(now, j)
}

// onRespawned notes that a process was born that no order has reached.
func (m *Machine) onRespawned(now int64, id JobID) {
	if j := m.lookup(id); j != nil && j.launched {
		m.moreRun(now, j)
	}
}

// moreRun takes a job for running because of processes that were born.
func (m *Machine) moreRun(now int64, j *job) {
	if j.phase == PhaseRunning {
		return
	}
	m.forgetWait(now, j)
	j.phase, j.mixed, j.late, j.since = PhaseRunning, true, false, now
	m.disturbed = true
}

// onConnected notes that a job has contexts now. They are made on their channels,
// so that those of a job that is not on may have to be taken away.
func (m *Machine) onConnected(id JobID, contexts int) {
	j := m.lookup(id)
	if j == nil || j.contexts > 0 {
		return
	}
	j.contexts, j.bound = max(contexts, 1), live
	m.networked++
	m.residentsDue, m.disturbed = true, !j.want
}

// onDone takes the answer to an order. One to an order that has been
// replaced says nothing about the present.
func (m *Machine) onDone(now int64, ev *Event) {
	j := m.lookup(ev.Job)
	if j == nil {
		return
	}
	last := j.seq
	if ev.Step == Stop {
		last = j.stopSeq
	}
	if ev.Seq != last {
		m.counters[CountStaleAnswers]++
		return
	}
	if ev.Step == Stop && j.phase == PhaseStopping {
		if !j.late {
			j.lateStreak = 0
		}
		j.phase, j.late = PhaseStopped, false
	}
	j.asked = j.asked && ev.Step != Revoke
	m.answered(now, j, ev.Step)
}

// wants reports whether the row that is on has the job.
func (m *Machine) wants(id JobID) bool {
	if !m.cur.present || m.slot.Pos < 0 {
		return false
	}
	return m.cur.has(m.slot.Pos, id)
}
