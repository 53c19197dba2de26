package ctxswitch

import "time"

// Contexts that must leave their channels at a boundary are revoked, and begin to flush, before it. A
// gang that computes then goes on computing, and the next one has the channels as soon as its slice
// begins. The outgoing gang sends nothing to other nodes for that long.

const (
	// aheadFirst is how long before the boundary at first: what revoke and flush take as a rule on a
	// machine that is not busy.
	aheadFirst = 200 * time.Microsecond
	// aheadLeast and AheadMost bound it: a wake-up, and what a gang may lose of its network.
	aheadLeast = 50 * time.Microsecond
	AheadMost  = 400 * time.Microsecond
	// aheadPart bounds it by a part of the slice that ends, as well.
	aheadPart = 16
	// aheadStep is by how much it changes with one boundary.
	aheadStep = 4 * time.Microsecond
	// aheadOdds makes it rest where so many gangs have left in time for each that has not.
	aheadOdds = 9
)

// ahead is how long before a boundary contexts begin to leave. It learns how long processes take to
// let go of their contexts: a stochastic approximation of a quantile (Robbins and Monro, 1951).
type ahead struct{ time.Duration }

// left learns from a boundary whether the contexts that were asked to leave had been let go of.
func (a *ahead) left(late bool) {
	if late {
		a.Duration = min(a.Duration+aheadOdds*aheadStep, AheadMost)
	} else {
		a.Duration = max(a.Duration-aheadStep, aheadLeast)
	}
}

// leaveAhead orders what is due ahead of the next boundary, and finds out when something will be.
func (m *Machine) leaveAhead(now int64) {
	if m.leaveAt = m.nextLeave(); m.leaveAt > now {
		return
	}
	m.leaveAt = Never
	for i := range m.jobs {
		if j := &m.jobs[i]; j.leaving() {
			m.give(now, j, Revoke)
			j.bound, j.leaves, j.asked = revoked, true, true
		}
	}
}

// nextLeave is the local instant at which contexts begin to leave before the next boundary, or Never;
// job.leaving then says whose. With a plan to come, a job that leaves by the present one may stay on.
func (m *Machine) nextLeave() int64 {
	if m.networked == 0 || !m.cur.present || len(m.coming) > 0 || !m.gone() || m.fitTogether() {
		return Never
	}
	at, pos := m.cur.nextChange(m.slot)
	if at == Never {
		return Never
	}
	m.fit(pos, func(j *job) bool { return m.cur.has(pos, j.id) })
	for i := range m.jobs {
		if m.jobs[i].leaving() {
			return at - int64(min(m.ahead.Duration, m.cur.before(pos).Slice/aheadPart))
		}
	}
	return Never
}

// gone reports whether the jobs of the row that is on run. Others may be stopping still.
func (m *Machine) gone() bool { return m.state == Steady || m.state == Go && m.record.Running != 0 }

// fitTogether reports whether there is room for all contexts, so that none ever leaves.
func (m *Machine) fitTogether() bool {
	room := m.config.Channels
	for i := range m.jobs {
		room -= m.jobs[i].contexts
	}
	return room >= 0
}

// leaving reports whether the job is on, and its contexts are to leave their channels when the row
// comes on that fit was called for.
func (j *job) leaving() bool {
	return j.want && !j.on && !j.fits && j.bound == live && j.phase == PhaseRunning
}
