package ctxswitch

import (
	"score/ctxswitch/quantile"
	"time"
)

// Contexts that must leave their channels at a boundary are revoked, and begin to flush, before it.
// A gang that computes then goes on computing, and the next one has the channels as soon as its
// slice begins. The outgoing gang sends nothing to other nodes for that long.

const (
	// aheadFirst is how long before the boundary at first: what revoke and flush take as a rule on
	// a machine that is not busy.
	aheadFirst = 200 * time.Microsecond
	// MaxAhead is what a gang may lose of its network.
	MaxAhead = 400 * time.Microsecond
	// aheadPart bounds it by a part of the slice that ends, as well.
	aheadPart = 16
)

// aheadRule learns how long processes take to let go of their contexts: nine of ten are to have, by
// the boundary. A wake-up is the least.
var aheadRule = quantile.Rule{Step: 4 * time.Microsecond, Odds: 9, Min: 50 * time.Microsecond, Max: MaxAhead}

// leaveAhead orders what is due ahead of the next boundary, and finds out when something will be.
func (m *Machine) leaveAhead(now int64) {
	if m.leaveAt = m.nextLeave(); m.leaveAt > now {
		return
	}
	m.leaveAt = Never
	for i := range m.jobs {
		if j := &m.jobs[i]; j.leaving() {
			m.issue(now, j, Revoke)
			j.bound, j.leaves, j.asked = revoked, true, true
		}
	}
}

// endAhead ends what leaveAhead began, when another row or plan comes on, and learns from it. It
// reports whether there was anything: who stays on after all is to get its contexts back.
func (m *Machine) endAhead() (left bool) {
	late := false
	for i := range m.jobs {
		if j := &m.jobs[i]; j.leaves {
			left, late, j.leaves = true, late || j.asked, false
		}
	}
	if left {
		m.ahead = aheadRule.Next(m.ahead, late)
	}
	return left
}

// nextLeave is the local instant at which contexts begin to leave before the next boundary, or
// Never; job.leaving then says whose. With a plan to come, a job that leaves by the present one may
// stay on.
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
			return at - int64(min(m.ahead, m.cur.before(pos).Slice/aheadPart))
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
