package gang

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
)

// headState is what later passes need to know of the first waiting job.
type headState struct {
	job *job
	// promise is the cluster time by which the job starts if all jobs keep their time limits; 0:
	// none. Overtaking jobs may use only the time that is gained when jobs end early.
	promise int64
	// kept is the fit reserved for a head without a promise.
	kept   *gang
	layout uint64 // the Machine.layout for which kept was chosen
}

// prospect describes when the head can start, as computed in one pass.
type prospect struct {
	// horizon is the weighted run time (see remainingOf) after which the head can start. It is
	// noLimit if a gang without a time limit is in its way.
	horizon int64
	length  int // length of the rotation, in weights
	longest int // greatest length that the promise allows
}

// prospectOf computes when and where the head will start. It fills the grids shadow (the cluster at
// that time, with the head) and common (the resources that are free both now and then).
func (m *Machine) prospectOf(head *job, now int64) *prospect {
	if m.head.job != head {
		m.head = headState{job: head}
	}
	v := &prospect{horizon: noLimit, length: m.grid.length(), longest: math.MaxInt}
	ends, limited := m.endings()
	var at *gang
	if n := m.fewestEnds(head, ends, 0, limited); n <= limited {
		s, _ := m.fitAfter(head, ends[:n])
		at = m.formGang(head, s)
		v.horizon = ends[n-1].remaining
		m.head.kept = nil
		m.promise(v, now)
		m.shadow.copyFrom(&m.probe)
	} else {
		at = m.holdFit(head, ends, limited)
		m.head.promise = 0
		m.shadow.copyFrom(m.grid)
	}
	m.shadow.add(at)
	m.common.copyFrom(m.grid)
	m.common.addCPUs(at)
	m.common.rows[at.row].weights[at.weight]-- // the head does not lengthen the rotation yet
	for pos := range m.common.mem {
		m.limitMemory(int32(pos))
		for r := range m.common.rows {
			m.limitChannels(r, int32(pos))
		}
	}
	return v
}

// endings returns the gangs in the order in which their limits end them, gangs without a limit
// last. limited is the number of gangs with a limit.
func (m *Machine) endings() (ends []*gang, limited int) {
	for _, ga := range m.gangs {
		ga.remaining = remainingOf(ga)
		if ga.remaining != noLimit {
			limited++
		}
	}
	ends = slices.Clone(m.gangs)
	slices.SortStableFunc(ends, func(a, b *gang) int { return cmp.Compare(a.remaining, b.remaining) })
	return ends, limited
}

// fewestEnds returns the number of gangs that must end, in the given order, before the head fits.
// The result is greater than low and at most high, or high+1 if the end of high gangs is not
// enough.
func (m *Machine) fewestEnds(head *job, ends []*gang, low, high int) int {
	for high++; high-low > 1; {
		mid := low + (high-low)/2
		if _, ok := m.fitAfter(head, ends[:mid]); ok {
			high = mid
		} else {
			low = mid
		}
	}
	return high
}

// fitAfter finds a fit for the head after the given gangs have ended. It leaves the cluster without
// these gangs in probe.
func (m *Machine) fitAfter(head *job, ended []*gang) (fit, bool) {
	m.probe.copyFrom(m.grid)
	for _, ga := range ended {
		m.probe.remove(ga)
	}
	return m.fitFor(&m.probe, head, anyGrowth)
}

// promise makes the head's promise, or replaces a promise that cannot be kept. It sets the length
// that the rotation may reach under it. A longer rotation delays all ends by the same factor, so
// their order does not change, and neither does the shadow.
func (m *Machine) promise(v *prospect, now int64) {
	by := satAdd(now, satMul(v.horizon, v.length))
	if m.head.promise == 0 || by > m.head.promise {
		m.head.promise = by
	}
	if v.horizon > 0 {
		v.longest = max(int(min((m.head.promise-now)/v.horizon, math.MaxInt32)), v.length)
	}
}

// holdFit reserves a fit for a head with an unknown start time. The fit stays the same from pass to
// pass, so that its resources become free and the head does not starve.
func (m *Machine) holdFit(head *job, ends []*gang, limited int) *gang {
	if m.head.kept == nil || m.head.layout != m.layout {
		n := m.fewestEnds(head, ends, limited, len(ends)-1) // all of them are enough
		s, _ := m.fitAfter(head, ends[:n])
		m.head.kept, m.head.layout = m.formGang(head, s), m.layout
	}
	return m.head.kept
}

// overtake starts a job before the head if the job ends in time or fits beside the head, and does
// not lengthen the rotation beyond the head's promise.
func (m *Machine) overtake(j *job, v *prospect) (*gang, bool) {
	q := m.prepare(j)
	limit := j.req.TimeLimit
	growth := v.longest - v.length
	inTime := limit > 0 && v.horizon != noLimit && remainingFor(limit, q.weight) <= v.horizon
	failed, g := m.memo.common, &m.common
	if inTime {
		failed, g = m.memo.now, m.grid
	}
	s, ok := m.remembered(failed, g, j, growth)
	if !ok || !m.grid.allows(s.row) {
		return nil, false
	}
	ga := m.formGang(j, s)
	m.grid.add(ga)
	m.common.addCPUs(ga)
	if !inTime {
		m.shadow.connect(ga, -1)
		m.shadow.reserve(ga, -1)
	}
	for i := range ga.nodeShares {
		m.limitMemory(ga.nodeShares[i].node.pos)
		m.limitChannels(ga.row, ga.nodeShares[i].node.pos)
	}
	v.length = m.grid.length()
	return ga, true
}

// limitMemory limits a node's memory in common to the amount that is free both now and at the
// shadow time.
func (m *Machine) limitMemory(pos int32) {
	m.common.mem[pos] = min(m.grid.mem[pos], m.shadow.mem[pos])
}

// limitChannels limits a node's channels in a row of common in the same way.
func (m *Machine) limitChannels(r int, pos int32) {
	m.common.rows[r].channels[pos] = min(m.grid.rows[r].channels[pos], m.shadow.rows[r].channels[pos])
}

func satMul(a int64, b int) int64 {
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	if hi != 0 || lo > math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(lo)
}

func satAdd(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}
