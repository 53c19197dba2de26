package ctxswitch

import "slices"

// decide makes every transition that follows from the facts at the instant now, in the order of the
// steps; DESIGN.md draws them. Each step gives orders to all jobs that take part in it (job.due). A
// step without such jobs is passed in the same call.
func (m *Machine) decide(now int64) {
	changed := m.selectRow(now)
	if m.residentsDue && m.chooseResidents() {
		m.disturbed = true
	}
	if (changed || m.disturbed) && m.state != Steady {
		// The row of this switch is no longer the present one, or an outgoing job runs after all:
		// the incoming jobs would run against another gang. Completed work remains, and the switch
		// to the right row continues from it.
		if m.record.Running == 0 {
			m.supersede(now)
		} else {
			m.finish(now)
		}
	}
	m.disturbed = false
	for m.over(now) {
		switch m.state {
		case Steady:
			m.begin(now)
		case Revoke, Stop, Flush, Save, Load:
			m.enter(now, m.state+1)
		case Go:
			m.finish(now)
		}
	}
	m.leaveAhead(now)
	m.stopAhead(now)
}

// over reports whether the present step is over: all jobs that take part in it have answered, or
// its time is up. The stop of jobs without contexts may last beyond the steps after it.
func (m *Machine) over(now int64) bool {
	if m.state > Stop {
		m.waits(now, Stop) // notes late jobs in every step
	}
	switch m.state {
	// Steady: the jobs of the present row run, all others are stopped, except those that were late
	// to stop. Ends when a job is not as the row wants it: another row came on, or a job came.
	case Steady:
		if !m.cur.present || m.settled() {
			m.caused = false
			return false
		}
		return true

	// Revoke: the outgoing jobs' contexts are being taken from their processes, which still run.
	// Comes first, since a process that is stopped within a critical section would keep the lock
	// until its next slice.
	case Revoke:
		return !m.waits(now, Revoke)

	// Stop: the outgoing jobs are being frozen. Only the end of the switch waits for the answers,
	// unless a job may run on for long: the processes have no contexts any more. A late job is
	// counted, and the kernel continues to freeze it.
	case Stop:
		return m.stopUnawaited() || !m.waits(now, Stop)

	// Flush: the messages of the outgoing jobs are being acknowledged. Comes after revoke, so that
	// nothing new is sent meanwhile.
	case Flush:
		return !m.waits(now, Flush)

	// Save: the outgoing contexts leave their channels. Comes after flush,
	// since answers can only come to a context that is on its channel.
	case Save:
		return !m.waits(now, Save)

	// Load: the incoming contexts take the channels, which save has emptied. A job that came
	// meanwhile may have to await the stop.
	case Load:
		return !m.waits(now, Load) && (m.stopUnawaited() || !m.waits(now, Stop))

	// Go: the incoming jobs are being thawed, or launched for the first time. Comes last, so that
	// they find their network in place. Ends when they run and the outgoing jobs are stopped: the
	// next switch needs both.
	default:
		going, stopping := m.waits(now, Go), m.waits(now, Stop)
		if !going {
			m.noteRunning(now)
		}
		return !going && !stopping
	}
}

// selectRow finds the present row, and marks the jobs that it wants. It returns true if the set of
// wanted jobs has changed.
func (m *Machine) selectRow(now int64) (changed bool) {
	waited := false // the plan could be followed before its origin
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
	if fresh {
		on = m.cur.plan.At(m.cur.cluster(now))
		if waited {
			m.countMissed(m.cur.passed(Slot{Pos: -1}, on))
		}
	} else {
		on = m.cur.find(now, m.slot)
		if on == m.slot {
			return false
		}
		m.countMissed(m.cur.passed(m.slot, on))
	}
	m.slot, m.residentsDue = on, true
	if !m.markWanted() {
		return false
	}
	m.caused, m.cause, m.planned = true, CauseBoundary, m.cur.local(on.Start)
	if m.planned < m.cur.accepted {
		m.cause, m.planned = CausePlan, m.cur.accepted
	}
	return true
}

// countMissed counts the boundaries that passed before the present row without a switch.
func (m *Machine) countMissed(passed int64) {
	if passed > 1 {
		m.counters[CountMissedBoundaries] += uint64(passed - 1)
	}
}

// markWanted sets job.want by the present row. Both lists are ordered by id. It returns true if the
// jobs that should run changed, or contexts were revoked ahead of the boundary.
func (m *Machine) markWanted() (changed bool) {
	var wanted []JobID
	if m.slot.Pos >= 0 {
		wanted = m.cur.plan.Rows[m.slot.Pos].Jobs
	}
	changed = m.endAhead()
	for i := range m.jobs {
		j := &m.jobs[i]
		for len(wanted) > 0 && wanted[0] < j.id {
			wanted = wanted[1:]
		}
		want := len(wanted) > 0 && wanted[0] == j.id && m.cur.plan.newerThan(j.after)
		ran := j.runs()
		changed = changed || want != j.want
		j.want = want
		m.endEarly(j)
		changed = changed || ran != j.runs()
	}
	return changed
}

// settled reports whether every job is as the row wants it.
func (m *Machine) settled() bool {
	for i := range m.jobs {
		if !m.jobs[i].settled() {
			return false
		}
	}
	return true
}

// begin begins a switch.
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
	m.recordEarly()
	m.enter(now, Revoke)
}

// noteRunning notes when all incoming jobs run, if there are any.
func (m *Machine) noteRunning(now int64) {
	if r := m.record; r.Running == 0 && len(r.In)+len(r.Launched) > 0 {
		r.Running = now
	}
}

// finish ends the switch in progress, whose incoming jobs run.
func (m *Machine) finish(now int64) {
	m.counters[CountSwitches]++
	if m.record.Running == 0 {
		m.record.Running = now // no job came in
	}
	m.end(now)
}

// supersede breaks off the switch in progress before its incoming jobs run.
func (m *Machine) supersede(now int64) {
	m.counters[CountSuperseded]++
	m.record.Superseded = true
	m.end(now)
}

// end emits the record of the switch in progress, and goes back to Steady.
func (m *Machine) end(now int64) {
	r := m.record
	r.Finished = now
	m.forgetWaits(now)
	m.effects = append(m.effects, Effect{Kind: EffectRecord, Record: r})
	m.state, m.record = Steady, nil
}
