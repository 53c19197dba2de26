package gang

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
)

// headState is what is kept from pass to pass about the job that waits first.
type headState struct {
	job *job
	// promise is the cluster time by which the job starts if all keep their time
	// limits; 0 is none. Overtakers may use up the slack that early ends give, not more.
	promise int64
	// kept is the fit held free for a head without a promise.
	kept   *gang
	layout uint64 // of kept
}

// view is the head's prospect in one pass.
type view struct {
	// horizon is how far off the head's start is, as a demand (see demandOf);
	// unknown if a gang in its way has no limit.
	horizon int64
	length  int // of the rotation, in weights
	longest int // the length that the promise allows
}

// look works out when and where the head will start, and fills the grids shadow (the
// cluster at that time, with the head) and common (what is taken now or then).
func (m *Machine) look(head *job, now int64) *view {
	if m.head.job != head {
		m.head = headState{job: head}
	}
	v := &view{horizon: unknown, length: m.grid.length(), longest: math.MaxInt}
	ends, limited := m.endings()
	var at *gang
	if n := m.fewestEnds(head, ends, 0, limited); n <= limited {
		s, _ := m.fitAfter(head, ends[:n])
		at = m.found(head, s)
		v.horizon = ends[n-1].demand
		m.head.kept = nil
		m.promise(v, now)
		m.shadow.copyFrom(&m.probe)
	} else {
		at = m.keep(head, ends, limited)
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

// endings lists the gangs in the order in which their limits end them, those
// without a limit last, and how many have one.
func (m *Machine) endings() (ends []*gang, limited int) {
	for _, ga := range m.gangs {
		ga.demand = demandOf(ga)
		if ga.demand != unknown {
			limited++
		}
	}
	ends = slices.Clone(m.gangs)
	slices.SortStableFunc(ends, func(a, b *gang) int { return cmp.Compare(a.demand, b.demand) })
	return ends, limited
}

// fewestEnds is how many of the gangs, in order, must end for the head to fit: above
// low, which are too few, up to high, or high+1 if these are too few.
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

// fitAfter looks where the head fits once the given gangs have ended, and leaves the
// cluster as it is then in probe.
func (m *Machine) fitAfter(head *job, ended []*gang) (fit, bool) {
	m.probe.copyFrom(m.grid)
	for _, ga := range ended {
		m.probe.remove(ga)
	}
	return m.fitFor(&m.probe, head, anyGrowth)
}

// promise makes the head's promise, or makes it anew if it cannot be kept, and sets how long
// the rotation may get under it. All demands stretch alike when the rotation gets longer, so the
// order of the ends, and with it the shadow, stays the same.
func (m *Machine) promise(v *view, now int64) {
	by := satAdd(now, satMul(v.horizon, v.length))
	if m.head.promise == 0 || by > m.head.promise {
		m.head.promise = by
	}
	if v.horizon > 0 {
		v.longest = max(int(min((m.head.promise-now)/v.horizon, math.MaxInt32)), v.length)
	}
}

// keep chooses the fit to hold free for a head whose start nobody can foresee, and
// sticks to it, so that it empties and the head is not starved.
func (m *Machine) keep(head *job, ends []*gang, limited int) *gang {
	if m.head.kept == nil || m.head.layout != m.layout {
		n := m.fewestEnds(head, ends, limited, len(ends)-1) // all of them are enough
		s, _ := m.fitAfter(head, ends[:n])
		m.head.kept, m.head.layout = m.found(head, s), m.layout
	}
	return m.head.kept
}

// overtake starts a job before the head if that does not delay the head: because it ends
// in time, or because head and job fit together. It must not lengthen the rotation beyond what the
// head was promised.
func (m *Machine) overtake(j *job, v *view) (*gang, bool) {
	q := m.prepare(j)
	limit := j.req.TimeLimit
	growth := v.longest - v.length
	inTime := limit > 0 && v.horizon != unknown && demandFor(limit, q.weight) <= v.horizon
	failed, g := m.memo.common, &m.common
	if inTime {
		failed, g = m.memo.now, m.grid
	}
	s, ok := m.remembered(failed, g, j, growth)
	if !ok || !m.grid.allows(s.row) {
		return nil, false
	}
	ga := m.found(j, s)
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

// limitMemory: what is taken for good must be free both now and at the shadow time.
func (m *Machine) limitMemory(pos int32) {
	m.common.mem[pos] = min(m.grid.mem[pos], m.shadow.mem[pos])
}

// limitChannels is the same for the channels of a row.
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
