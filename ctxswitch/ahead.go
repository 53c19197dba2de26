package ctxswitch

import (
	"score/ctxswitch/quantile"
	"time"
)

// Contexts that must leave their channels at a boundary are revoked, and begin to flush, before it.
// A computing gang is not disturbed by that, and the next gang has the channels as soon as its
// slice begins. The cost: the outgoing gang sends nothing to other nodes for that long.

const (
	// aheadFirst is the initial time between the revoke and the boundary: the usual duration of
	// revoke and flush on a machine that is not busy.
	aheadFirst = 200 * time.Microsecond
	// MaxAhead bounds the time for which a gang may lose its network.
	MaxAhead = 400 * time.Microsecond
	// aheadPart bounds that time also to this part of the slice that ends.
	aheadPart = 16
)

// aheadRule learns how long processes take to release their contexts: nine of ten must have done so
// by the boundary. The minimum is the time of a wake-up.
var aheadRule = quantile.Rule{Step: 4 * time.Microsecond, Odds: 9, Min: 50 * time.Microsecond, Max: MaxAhead}

// leaveAhead revokes the contexts that must leave at the next boundary if it is time, and sets
// leaveAt to the instant at which that is due.
func (m *Machine) leaveAhead(now int64) {
	if m.leaveAt = m.nextLeave(); m.leaveAt > now {
		return
	}
	at, pos := m.cur.nextChange(m.slot)
	for i := range m.jobs {
		if j := &m.jobs[i]; j.leaving() && m.leavesAt(j, at, pos) <= now {
			m.issue(now, j, Revoke)
			j.bound, j.leaves, j.asked = revoked, true, true
		}
	}
	m.leaveAt = m.nextLeave()
}

// endAhead ends the work of leaveAhead when another row or plan comes on, and learns from it. It
// returns true if contexts were revoked ahead: jobs that stay on after all must get theirs back.
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

// nextLeave returns the local instant at which contexts must be revoked ahead of the next boundary,
// or Never; job.leaving then holds for their jobs. While a newer plan waits for its origin, it
// returns Never, since a job that leaves by the present plan may stay on.
func (m *Machine) nextLeave() int64 {
	if m.networked == 0 || !m.cur.present || len(m.coming) > 0 || !m.rowRuns() || m.fitTogether() {
		return Never
	}
	at, pos := m.cur.nextChange(m.slot)
	if at == Never {
		return Never
	}
	m.fit(pos, func(j *job) bool { return m.cur.has(pos, j) })
	first := Never
	for i := range m.jobs {
		if j := &m.jobs[i]; j.leaving() {
			first = min(first, m.leavesAt(j, at, pos))
		}
	}
	return first
}

// leavesAt returns the local instant at which the contexts of a job that leaves at the boundary at
// are revoked: before it is stopped.
func (m *Machine) leavesAt(j *job, at int64, pos int) int64 {
	return m.earlyAt(j, at, pos) - int64(min(m.ahead, m.cur.before(pos).Slice/aheadPart))
}

// rowRuns reports whether the jobs of the present row run. Other jobs may still be stopping.
func (m *Machine) rowRuns() bool { return m.state == Steady || m.state == Go && m.record.Running != 0 }

// fitTogether reports whether there is room for the contexts of all jobs, so that none ever leaves.
func (m *Machine) fitTogether() bool {
	room := m.config.Channels
	for i := range m.jobs {
		room -= m.jobs[i].contexts
	}
	return room >= 0
}

// leaving reports whether the job is on and its contexts must leave their channels when the row of
// the last call of fit comes on.
func (j *job) leaving() bool {
	return j.want && !j.on && !j.fits && j.bound == live && j.phase == PhaseRunning
}
