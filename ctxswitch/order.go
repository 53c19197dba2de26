package ctxswitch

import "time"

// enter enters step s and orders its work.
func (m *Machine) enter(now int64, s Step) {
	m.state = s
	if steps[s].network && m.networked == 0 {
		return
	}
	for i := range m.jobs {
		if j := &m.jobs[i]; j.due(s) && (s != Go || !j.costly()) {
			m.record.Steps.add(s)
			m.record.Begin[s] = now
			m.order(now, j, s)
		}
	}
	if s == Go {
		m.launch(now)
		m.thawCostly(now)
	}
}

// order gives a job the order of step s, and makes the step wait for the answer.
func (m *Machine) order(now int64, j *job, s Step) {
	if s == Stop && j.phase == PhaseStopping {
		// A switch that was broken off has ordered it; the answer has not come yet.
		m.await(j, Stop, j.stopBy)
		return
	}
	by := m.issue(now, j, s)
	m.await(j, s, by)
	switch s {
	case Revoke:
		j.bound = revoked
	case Stop:
		m.noteStop(now, j, by)
		m.recordOut(j)
	case Save:
		j.bound = saved
	case Load:
		j.bound = live
	case Go:
		m.noteThaw(now, j)
	case Steady, Flush:
	}
}

// issue emits an order, and returns the deadline of its answer.
func (m *Machine) issue(now int64, j *job, s Step) (by int64) {
	m.seq++
	by = now + int64(m.timeout(s))
	m.effects = append(m.effects, Effect{Kind: steps[s].effect, Step: s, Job: j.id, Seq: m.seq, By: by})
	if s != Stop {
		j.seq, j.asked = m.seq, false
	}
	return by
}

// launch orders the launch of the jobs that run for the first time. It comes after the thaws, and
// nothing waits for it: starting processes takes longer than a switch may.
func (m *Machine) launch(now int64) {
	for i := range m.jobs {
		j := &m.jobs[i]
		if !j.runs() || !j.connected() || j.phase != PhasePrepared {
			continue
		}
		m.effects = append(m.effects, Effect{Kind: EffectLaunch, Job: j.id})
		m.counters[CountLaunches]++
		m.noteGo(now, j)
		m.record.Launched = append(m.record.Launched, j.id)
	}
}

// noteStop notes that a job was ordered to stop, by the newest order.
func (m *Machine) noteStop(now int64, j *job, by int64) {
	j.phase, j.mixed, j.stopSeq, j.stopAt, j.stopBy = PhaseStopping, false, m.seq, now, by
	j.ran += time.Duration(now - j.since)
}

// recordOut enters a job that was ordered to stop into the record of the switch.
func (m *Machine) recordOut(j *job) {
	m.record.Out = append(m.record.Out, j.id)
	if j.stays {
		m.counters[CountStays] += uint64(j.contexts)
	}
}

// noteThaw notes that a job was ordered to continue.
func (m *Machine) noteThaw(now int64, j *job) {
	if j.phase == PhaseStopping && !j.late && now >= j.stopAt+int64(StopTimeout) {
		m.lateFreeze(now, j)
	}
	m.noteGo(now, j)
	m.record.In = append(m.record.In, j.id)
}

// noteGo notes that a job was thawed or launched.
func (m *Machine) noteGo(now int64, j *job) {
	j.phase, j.mixed, j.late, j.since = PhaseRunning, false, false, now
	j.slices++
}

// timeout returns how long the machine waits for an answer in step s.
func (m *Machine) timeout(s Step) time.Duration {
	switch {
	case s == Stop && m.stopUnawaited():
		return LooseStopTimeout
	case steps[s].network && m.slot.Pos >= 0:
		return min(steps[s].timeout, max(time.Duration(m.slot.End-m.slot.Start)/networkPart, minNetworkBound))
	default:
		return steps[s].timeout
	}
}

// stopUnawaited reports whether the steps after the stop need not wait for it: no job that takes
// part in the switch may run on for long. The processes have had no contexts since the revoke.
func (m *Machine) stopUnawaited() bool {
	for i := range m.jobs {
		if j := &m.jobs[i]; j.awaited && !j.settled() {
			return false
		}
	}
	return true
}
