package ctxswitch

import (
	"score/ctxswitch/quantile"
	"time"
)

// Contexts that must leave their channels at a boundary are revoked, and begin to flush, before it.
// A gang that computes then goes on computing, and the next one has the channels as soon as its
// slice begins. The outgoing gang sends nothing to other nodes for that long.

const (
	// aheadFirst is the first value of the time before the boundary: revoke and flush usually take
	// that long on an idle machine.
	aheadFirst = 200 * time.Microsecond
	// MaxAhead bounds the time for which a gang may lose its network.
	MaxAhead = 400 * time.Microsecond
	// aheadPart also bounds it, by 1/aheadPart of the slice that ends.
	aheadPart = 16
)

// aheadRule estimates how long processes take to release their contexts, so that nine of ten have
// done so by the boundary. The least is the time of a wake-up.
var aheadRule = quantile.Rule{Step: 4 * time.Microsecond, Odds: 9, Min: 50 * time.Microsecond, Max: MaxAhead}

// leaveAhead orders the revokes that are due ahead of the next boundary, and sets leaveAt.
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

// endAhead ends the work of leaveAhead when another row or plan comes on, and adapts the time
// ahead. It reports whether any contexts were leaving: a job that stays on after all must get them
// back.
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

// nextLeave returns the local instant at which contexts begin to leave before the next boundary, or
// Never; job.leaving then reports whose. If another plan is to come, a job that leaves by the
// present plan may stay on.
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

// gone reports whether the jobs of the row that is on run. Others may still be stopping.
func (m *Machine) gone() bool { return m.state == Steady || m.state == Go && m.record.Running != 0 }

// fitTogether reports whether there is room for all contexts, so that none ever leaves.
func (m *Machine) fitTogether() bool {
	room := m.config.Channels
	for i := range m.jobs {
		room -= m.jobs[i].contexts
	}
	return room >= 0
}

// leaving reports whether the job is on, and its contexts must leave their channels when the row
// comes on for which fit was called.
func (j *job) leaving() bool {
	return j.want && !j.on && !j.fits && j.bound == live && j.phase == PhaseRunning
}
