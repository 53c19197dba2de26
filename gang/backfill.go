package gang

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
)

// headState is the state of the first waiting job (the head) that later passes need.
type headState struct {
	job *job
	// promise is the cluster time by which the job starts if all jobs keep their time
	// limits; 0: none. Overtakers may use the slack of jobs that end early, and no more.
	promise int64
	// kept is the fit reserved for a head without a promise.
	kept   *gang
	layout uint64 // of kept
}

// prospect is when the head can start, as seen in one pass.
type prospect struct {
	// horizon is the weighted run time (see remainingOf) after which the head can start;
	// noLimit if a gang in its way has no time limit.
	horizon int64
	length  int // of the rotation, in weights
	longest int // the length that the promise allows
}

// prospectOf computes when and where the head will start. It fills the grids shadow (the cluster at
// that time, with the head) and common (the resources that are taken now or then).
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

// endings returns the gangs in the order in which their limits end them, those without a
// limit last, and the number of those that have one.
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

// fewestEnds returns the number of gangs, in order, that must end before the head fits: more than
// low, at most high, or high+1 if high are too few.
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

// fitAfter finds a fit for the head after the given gangs have ended. It leaves the cluster at that
// time in probe.
func (m *Machine) fitAfter(head *job, ended []*gang) (fit, bool) {
	m.probe.copyFrom(m.grid)
	for _, ga := range ended {
		m.probe.remove(ga)
	}
	return m.fitFor(&m.probe, head, anyGrowth)
}

// promise makes the head's promise, replaces one that cannot be kept, and sets how long the
// rotation may get under it. A longer rotation delays all ends by the same factor, so their
// order, and with it the shadow, stays the same.
func (m *Machine) promise(v *prospect, now int64) {
	by := satAdd(now, satMul(v.horizon, v.length))
	if m.head.promise == 0 || by > m.head.promise {
		m.head.promise = by
	}
	if v.horizon > 0 {
		v.longest = max(int(min((m.head.promise-now)/v.horizon, math.MaxInt32)), v.length)
	}
}

// holdFit reserves a fit for a head whose start time is unknown. It stays the same from pass
// to pass, so that it empties and the head does not starve.
func (m *Machine) holdFit(head *job, ends []*gang, limited int) *gang {
	if m.head.kept == nil || m.head.layout != m.layout {
		n := m.fewestEnds(head, ends, limited, len(ends)-1) // all of them are enough
		s, _ := m.fitAfter(head, ends[:n])
		m.head.kept, m.head.layout = m.formGang(head, s), m.layout
	}
	return m.head.kept
}

// overtake starts a job before the head if it ends in time or fits beside the head, and does
// not lengthen the rotation beyond what the head was promised.
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

// limitMemory limits a node's common memory to the memory that is free both now and at the shadow
// time.
func (m *Machine) limitMemory(pos int32) {
	m.common.mem[pos] = min(m.grid.mem[pos], m.shadow.mem[pos])
}

// limitChannels does the same for the channels of a row.
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
