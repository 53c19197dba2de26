package life

import "time"

// AgentLost reports that the control connection has ended.
func (m *Machine) AgentLost(now time.Time) {
	m.lostAt, m.grace = now, m.config.Grace
	m.Tick(now)
}

// AgentBack reports that an agent has connected.
func (m *Machine) AgentBack(time.Time) { m.lostAt = time.Time{} }

// Reader reports whether a reader of the ranks' output is attached.
func (m *Machine) Reader(now time.Time, attached bool) {
	if m.reader && !attached {
		m.lingerFrom = now
	}
	m.reader = attached
	m.Tick(now)
}

// Drained reports that all output has been delivered to a reader.
func (m *Machine) Drained(now time.Time) {
	m.drained = true
	m.Tick(now)
}

// Forget reports that the job's end is committed: nobody will ask for it again. A job that still
// runs is ended.
func (m *Machine) Forget(now time.Time) {
	if m.phase != Over {
		m.Kill(now)
	}
	if !m.forgotten {
		m.forgotten, m.lingerFrom = true, now
	}
	m.Tick(now)
}

// Recycle is like Forget, by an agent that wants to use the steward again. Once nobody needs the
// job any more, the steward becomes free instead of leaving, if mayServeAgain.
func (m *Machine) Recycle(now time.Time) {
	m.again = m.phase != Free
	m.Forget(now)
}

// Renewed reports whether the steward is as it was before the job. If not,
// the steward leaves.
func (m *Machine) Renewed(now time.Time, ok bool) {
	if m.phase != Renewing {
		return
	}
	if !ok {
		m.enter(now, Gone)
		return
	}
	m.enter(now, Free)
	m.Tick(now) // the agent may have been lost meanwhile
}

// mayServeAgain reports whether the steward may take another job: nothing unusual has happened, so
// its remaining state is known. A kill may still be under way when the last rank is gone, and
// unread output is still there.
func (m *Machine) mayServeAgain() bool {
	return m.again && !m.killed && !m.aborted && !m.failed && m.lostAt.IsZero() && m.served < maxJobs &&
		(m.drained || m.rules.Detached || !m.started)
}

// Tick handles all deadlines up to now.
func (m *Machine) Tick(now time.Time) {
	if m.phase == Gone {
		return
	}
	m.endOrphan(now)
	m.expireLease(now)
	m.watchRanks(now)
	if m.phase == Renewing && !now.Before(m.renewFrom.Add(renewWait)) {
		m.enter(now, Gone)
	}
	if !m.mayLeave(now) {
		return
	}
	if m.mayServeAgain() {
		m.enter(now, Renewing)
		return
	}
	m.enter(now, Gone)
}

// endOrphan ends the job of a steward whose agent has been away too long.
func (m *Machine) endOrphan(now time.Time) {
	if m.lostAt.IsZero() || now.Before(m.lostAt.Add(m.grace)) {
		return
	}
	if m.phase != Over {
		m.Kill(now)
	}
}

// watchRanks handles the deadlines of ranks: silence, and a closed connection without an exit.
func (m *Machine) watchRanks(now time.Time) {
	if m.phase != Running || m.killed || m.ending {
		return
	}
	if !now.Before(m.launchedAt.Add(silenceNote)) {
		m.noteSilence()
	}
	if m.closed == 0 {
		return
	}
	for k := range m.ranks {
		r := &m.ranks[k]
		if r.state != Alive || r.closedAt.IsZero() || now.Before(r.closedAt.Add(exitAfterClose)) {
			continue
		}
		m.Abort(now, Abort{Rank: k, ExitCode: 1, Message: "closed its PMI connection without finalize"})
	}
}

func (m *Machine) mayLeave(now time.Time) bool {
	if m.phase != Free && m.phase != Over {
		return false
	}
	at, ok := m.leaveAt()
	return ok && !now.Before(at)
}

// leaveAt returns when a steward whose job is over, or that has none, stops waiting.
func (m *Machine) leaveAt() (time.Time, bool) {
	if !m.lostAt.IsZero() {
		return m.lostAt.Add(m.grace), true
	}
	if m.phase == Free {
		return time.Time{}, m.forgotten
	}
	if !m.forgotten {
		return m.overAt.Add(forgetWait), true
	}
	switch {
	case m.drained:
		return time.Time{}, true
	case m.reader: // it leaves when the reader closes the connection
		return time.Time{}, false
	case m.rules.Detached || !m.started:
		return time.Time{}, true
	}
	return m.lingerFrom.Add(drainLinger), true
}

// Deadline returns when Tick must be called next; the zero time: never.
func (m *Machine) Deadline() time.Time {
	var next time.Time
	earliest := func(at time.Time) {
		if next.IsZero() || at.Before(next) {
			next = at
		}
	}
	if m.leased() {
		earliest(m.leaseUntil)
	}
	switch m.phase {
	case Free, Over:
		if at, ok := m.leaveAt(); ok {
			earliest(at)
		}
	case Preparing, Ready, Starting, Running:
		if !m.lostAt.IsZero() && !m.killed {
			earliest(m.lostAt.Add(m.grace))
		}
	case Renewing:
		earliest(m.renewFrom.Add(renewWait))
	case Sweeping, Gone:
	}
	if m.phase != Running || m.killed || m.ending {
		return next
	}
	if m.rules.Silent && !m.spoken && !m.noted {
		earliest(m.launchedAt.Add(silenceNote))
	}
	if m.closed == 0 {
		return next
	}
	for k := range m.ranks {
		if r := &m.ranks[k]; r.state == Alive && !r.closedAt.IsZero() {
			earliest(r.closedAt.Add(exitAfterClose))
		}
	}
	return next
}
