package ctxswitch

import (
	"score/ctxswitch/quantile"
	"slices"
	"time"
)

// A job whose stop takes the kernel long, since it has thousands of threads, is stopped ahead of
// the boundary, so that it pays for that with its own slice and the next gang has all of its own.
// If the slice is too short for that, the job sits out later slices.

const (
	// minStopCost is the smallest cost for which a job is stopped ahead: a two-hundredth of a usual
	// slice, and some twenty times the cost of an ordinary stop. The kernel takes 4 us for each
	// thread.
	minStopCost = 500 * time.Microsecond
	// costDecay: a cheaper stop reduces the cost by this part of the difference. So a program that
	// has many threads only now and then also pays in between.
	costDecay = 16
	// leadSteps is the number of timely stops in a row after which the lead is 0.
	leadSteps = 16
	// leadOdds is how many stops must be complete at the boundary for each one that is not.
	leadOdds = 4
	// leadParts and keptParts: a job keeps at least a quarter of its slice. Without that it could
	// not even end threads.
	leadParts, keptParts = 4, 1
	// owedTimes limits what others lose by a job that cannot be stopped within its slice. The job
	// sits out slices for this many times what it cost them. So they lose about a tenth, with the
	// costs that are not measured.
	owedTimes = 20
	// busyLead bounds the lead to this many times the cost: other programs may use the processor.
	busyLead = 2
	// longLead: the user is told of a lead that is at least this part of the slice.
	longLead = 10
)

// noteStopCost adapts the job's stopCost to one more stop.
func (m *Machine) noteStopCost(j *job, cost time.Duration) {
	m.costlySeen = m.costlySeen || cost >= minStopCost
	if cost > j.stopCost {
		j.stopCost, j.stopLead = cost, cost
		return
	}
	j.stopCost -= (j.stopCost - cost) / costDecay
}

// costly reports whether the job pays for its stops.
func (j *job) costly() bool { return j.stopCost >= minStopCost }

// lead returns how long before the end of a slice the job is stopped.
func (j *job) lead(slice time.Duration) time.Duration {
	if !j.costly() {
		return 0
	}
	return min(j.stopLead, slice/leadParts*(leadParts-keptParts))
}

// stopAhead stops the jobs that must be stopped by now, ahead of the next boundary, and sets stopAt
// to the instant of the next such stop.
func (m *Machine) stopAhead(now int64) {
	if m.stopAt = m.nextStop(); m.stopAt > now {
		return
	}
	at, pos := m.cur.nextChange(m.slot)
	for i := range m.jobs {
		if j := &m.jobs[i]; m.stopsEarly(j, pos) && m.earlyAt(j, at, pos) <= now {
			m.stopEarly(now, j, at, pos)
		}
	}
	m.stopAt = m.nextStop()
}

// nextStop returns the local instant at which a job must be stopped ahead of the next boundary, or
// Never.
func (m *Machine) nextStop() int64 {
	first := Never
	if !m.costlySeen || !m.cur.present || !m.rowRuns() {
		return first
	}
	at, pos := m.cur.nextChange(m.slot)
	if at == Never {
		return first
	}
	for i := range m.jobs {
		if j := &m.jobs[i]; m.stopsEarly(j, pos) {
			first = min(first, m.earlyAt(j, at, pos))
		}
	}
	return first
}

// stopsEarly reports whether the job must be stopped ahead of the boundary at which the row at pos
// comes on. A job whose contexts must leave first, and have not been revoked, is stopped at the
// boundary instead.
func (m *Machine) stopsEarly(j *job, pos int) bool {
	return j.costly() && j.runs() && j.launched && j.phase == PhaseRunning && !m.cur.has(pos, j) && !m.mustLeave(j, pos)
}

// earlyAt returns the local instant at which a job is stopped ahead of the boundary at.
func (m *Machine) earlyAt(j *job, at int64, pos int) int64 {
	return at - int64(j.lead(m.cur.before(pos).Slice))
}

// mustLeave reports whether the job's contexts must leave their channels when the row at pos comes
// on, and have not been revoked yet.
func (m *Machine) mustLeave(j *job, pos int) bool {
	if j.contexts == 0 || j.bound != live || m.fitTogether() {
		return false
	}
	m.fit(pos, func(j *job) bool { return m.cur.has(pos, j) })
	return j.leaving()
}

// stopEarly orders a job to stop ahead of the boundary at. Nothing waits for the answer until then.
func (m *Machine) stopEarly(now int64, j *job, at int64, pos int) {
	m.seq++
	by := at + int64(LooseStopTimeout)
	m.effects = append(m.effects, Effect{Kind: EffectFreeze, Step: Stop, Job: j.id, Seq: m.seq, By: by})
	m.noteStop(now, j, by)
	m.counters[CountEarlyStops]++
	slice := m.cur.before(pos).Slice
	j.early, j.unrecorded = true, true
	j.led = j.lead(slice)
	j.short = max(min(j.stopLead, j.stopCost)-j.led, 0)
	if j.led < slice/longLead {
		return
	}
	if j.longLeads++; j.longLeads == WarnAfter {
		m.effects = append(m.effects, Effect{Kind: EffectCostly, Job: j.id, Cost: j.stopCost, Slice: slice})
	}
}

// endEarly decides whether a wanted job stands still for the present slice, and learns from a stop
// ahead of the boundary. It is called after another row or plan has come on and job.want is set.
func (m *Machine) endEarly(j *job) {
	switch {
	case j.early && j.unrecorded:
		m.learnLead(j)
	case !j.early && !j.want && j.phase == PhaseRunning && j.costly() && m.slot.Pos >= 0:
		// It could not be stopped ahead: the order to let it go on took all of its slice.
		slice := m.cur.before(m.slot.Pos).Slice
		j.owes = max(j.stopCost-j.lead(slice), 0) * owedTimes
	}
	j.early = false
	if j.want && j.owes > 0 && (j.phase == PhaseStopping || j.phase == PhaseStopped) && m.willStop(j) {
		j.early = true
		j.owes -= m.cur.plan.Rows[m.slot.Pos].Slice
		m.counters[CountSatOut]++
	}
}

// learnLead adapts the lead to whether the job stands still at the boundary. If it does not because
// its slice was too short for the lead, the job owes what others lose by that. learnLead learns
// nothing if another plan has come before the boundary.
func (m *Machine) learnLead(j *job) {
	if time.Duration(m.cur.local(m.slot.Start)-j.stopAt) < j.led/2 {
		return
	}
	late := j.phase != PhaseStopped
	if late {
		j.owes = j.short * owedTimes
	}
	rule := quantile.Rule{Step: j.stopCost / leadSteps, Odds: leadOdds, Max: busyLead * j.stopCost}
	j.stopLead = rule.Next(j.stopLead, late)
}

// willStop reports whether the plan has a row without the job.
func (m *Machine) willStop(j *job) bool {
	rows := m.cur.plan.Rows
	return slices.ContainsFunc(rows, func(r Row) bool {
		_, ok := slices.BinarySearch(r.Jobs, j.id)
		return !ok
	})
}

// recordEarly enters the stops ahead of the boundary into the record of the switch.
func (m *Machine) recordEarly() {
	if !m.costlySeen {
		return
	}
	for i := range m.jobs {
		if j := &m.jobs[i]; j.unrecorded {
			j.unrecorded = false
			m.recordOut(j)
		}
	}
}

// thawCostly orders the costly jobs that go on to continue. It comes after all other orders, and
// the switch does not wait for it. So no other job waits while the kernel wakes their many threads.
func (m *Machine) thawCostly(now int64) {
	if !m.costlySeen {
		return
	}
	for i := range m.jobs {
		if j := &m.jobs[i]; j.costly() && j.due(Go) {
			m.issue(now, j, Go)
			m.noteThaw(now, j)
		}
	}
}
