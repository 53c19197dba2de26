package ctxswitch

// await makes step s wait for the job's answer, at most until by.
func (m *Machine) await(j *job, s Step, by int64) {
	if s == Stop {
		j.stopWaited, j.stopBy = true, by
	} else {
		j.waiting, j.by = s, by
	}
	m.pending[s]++
}

// waiting reports whether any answer is awaited.
func (m *Machine) waiting() bool { return m.pending != [stepCount]int{} }

// nextTimeout returns the first instant at which the machine no longer awaits an answer.
func (m *Machine) nextTimeout() int64 {
	at, tight := Never, m.pending[Stop] > 0 && !m.stopUnawaited()
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

// tightened returns the deadline of a stop. If others now wait for a stop that nobody waited for
// when it was ordered, the deadline is earlier.
func (j *job) tightened(by int64, tight bool) int64 {
	if tight {
		return min(by, j.stopAt+int64(StopTimeout))
	}
	return by
}

// waits reports whether step s still awaits an answer. It notes the jobs with an expired deadline,
// which are no longer awaited.
func (m *Machine) waits(now int64, s Step) bool {
	if m.pending[s] == 0 {
		return false
	}
	tight := s == Stop && !m.stopUnawaited()
	for i := range m.jobs {
		j := &m.jobs[i]
		if by, ok := j.awaits(s); ok && now >= j.tightened(by, tight) {
			m.record.LateSteps.add(s)
			m.onAnswer(now, j, s)
			m.noteLate(now, j, s)
		}
	}
	return m.pending[s] > 0
}

// noteLate notes that a job did not answer step s in time.
func (m *Machine) noteLate(now int64, j *job, s Step) {
	if s != Stop {
		m.counters[CountLateSteps]++
		return
	}
	m.record.Late = append(m.record.Late, j.id)
	j.late = true
	m.lateFreeze(now, j)
}

// lateFreeze counts a freeze without an answer in time, also if the job's own row has come on
// meanwhile.
func (m *Machine) lateFreeze(now int64, j *job) {
	m.counters[CountLateFreezes]++
	j.lateFreezes++
	if j.lateStreak++; j.lateStreak == 1 {
		j.lateSince = now
	}
	if j.lateStreak >= WarnAfter && now-j.lateSince >= int64(WarnTime) && !j.warned {
		j.warned = true
		m.counters[CountWarnings]++
		m.effects = append(m.effects, Effect{Kind: EffectWarn, Job: j.id, Late: j.lateStreak})
	}
}

// forgetWaits ends all waits of a switch. The next switch awaits a freeze that is still under way
// (see job.due).
func (m *Machine) forgetWaits(now int64) {
	for i := range m.jobs {
		m.forgetWait(now, &m.jobs[i])
	}
}
