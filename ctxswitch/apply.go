package ctxswitch

import "slices"

// apply enters a fact into the tables. It decides nothing: transition.go derives the consequences.
func (m *Machine) apply(now int64, ev *Event) {
	switch ev.Kind {
	case EventTick:
	case EventPlan:
		m.onPlan(now, ev.Plan)
	case EventOffset:
		m.onOffset(now, ev.Term, ev.Offset)
	case EventJobAdded:
		m.onAdded(ev)
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
	case EventStopCost:
		if j := m.lookup(ev.Job); j != nil {
			m.noteStopCost(j, ev.Cost)
		}
	case EventJobConnected:
		m.onConnected(ev.Job, ev.Contexts)
	}
}

// onPlan accepts a plan if it is newer than all before. The plan comes into force at its origin
// (see selectRow). Until then earlier plans of the same term stay in force, each from its own
// origin on. onPlan drops waiting plans of other terms, and those that would begin no sooner than
// the new one.
func (m *Machine) onPlan(now int64, p *Plan) {
	if p == nil || p.Validate() != nil {
		m.counters[CountRefusedEvents]++
		return
	}
	if !p.newerThan(m.seen) {
		m.counters[CountStalePlans]++
		return
	}
	m.seen = p.id()
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

// onOffset sets the clock of the plans of a term, and keeps the newest offset for plans to come.
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

// onAdded adds a job without processes.
func (m *Machine) onAdded(ev *Event) {
	j := job{id: ev.Job, contexts: ev.Contexts, awaited: ev.Awaited, phase: PhasePrepared}
	if ev.Unplanned {
		j.after = m.seen
	}
	j.want = m.wants(&j)
	m.add(j)
}

// onAdopted adds a job that has processes already.
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
	j.want = m.wants(&j)
	m.disturbed = m.add(j) && !j.want && !j.settled()
}

// onLaunched notes that all processes of the job exist. Processes that were born after the order to
// freeze may run, so the job counts as running: it is stopped again if the row does not want it, or
// thawed if it does.
func (m *Machine) onLaunched(now int64, id JobID) {
	j := m.lookup(id)
	if j == nil || j.launched {
		return
	}
	j.launched = true
	m.noteNewProcesses(now, j)
}

// onRespawned notes a new process that no order has reached.
func (m *Machine) onRespawned(now int64, id JobID) {
	if j := m.lookup(id); j != nil && j.launched {
		m.noteNewProcesses(now, j)
	}
}

// noteNewProcesses marks a job as running because new processes run.
func (m *Machine) noteNewProcesses(now int64, j *job) {
	if j.phase == PhaseRunning {
		return
	}
	m.forgetWait(now, j)
	j.phase, j.mixed, j.late, j.since = PhaseRunning, true, false, now
	m.disturbed = true
}

// onConnected notes that a job now has contexts. They begin on their channels, so the machine may
// have to take those of a job that is off from its channels.
func (m *Machine) onConnected(id JobID, contexts int) {
	j := m.lookup(id)
	if j == nil || j.contexts > 0 {
		return
	}
	j.contexts, j.bound = max(contexts, 1), live
	m.networked++
	m.residentsDue, m.disturbed = true, !j.want
}

// onDone processes the answer to an order. An answer to an order that was replaced is ignored: it
// does not describe the present.
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
		j.phase, j.late, j.lateStreak = PhaseStopped, false, 0
		m.noteStopCost(j, ev.Cost)
	}
	j.asked = j.asked && ev.Step != Revoke
	m.onAnswer(now, j, ev.Step)
}

// wants reports whether the present row has the job.
func (m *Machine) wants(j *job) bool {
	if !m.cur.present || m.slot.Pos < 0 {
		return false
	}
	return m.cur.has(m.slot.Pos, j)
}
