package ctxswitch

// await makes step s wait for the job, at most until by.
func (m *Machine) await(j *job, s Step, by int64) {
	if s == Stop {
		j.stopWaited, j.stopBy = true, by
	} else {
		j.waiting, j.by = s, by
	}
	m.pending[s]++
}

// waiting reports whether any job's answer is awaited.
func (m *Machine) waiting() bool { return m.pending != [stepCount]int{} }

// patience returns the first instant at which the wait for a job's answer ends.
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

// tightened returns the deadline for a stop, which is earlier if another job waits for the stop by
// now.
func (j *job) tightened(by int64, tight bool) int64 {
	if tight {
		return min(by, j.stopAt+int64(StopTimeout))
	}
	return by
}

// waits reports whether step s still waits for a job. It counts jobs whose time is up as late and
// no longer waits for them.
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

// late records that a job did not answer step s in time.
func (m *Machine) late(j *job, s Step) {
	if s != Stop {
		m.counters[CountLateSteps]++
		return
	}
	m.record.Late = append(m.record.Late, j.id)
	j.late = true
	m.lateFreeze(j)
}

// lateFreeze counts a freeze that was not confirmed in time, even if the job's own row has come on
// meanwhile.
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

// forgetWaits ends the remaining waits of a switch. The next switch waits again for a freeze that
// is under way (see job.due).
func (m *Machine) forgetWaits(now int64) {
	for i := range m.jobs {
		m.forgetWait(now, &m.jobs[i])
	}
}
