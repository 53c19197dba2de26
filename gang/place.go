package gang

import (
	"math"
	"slices"
)

// shape is the part of a request that decides where it fits. Requests of equal shape fit in the
// same places, so a pass searches once for thousands of jobs.
type shape struct {
	tasks, nodes, cpus int
	mem                int64
	channels           int // per task
	weight             int
	exclusive, shared  bool // shared: ranks share CPUs, see Machine.prepare
}

// demand is a shape with the nodes that it must include.
type demand struct {
	shape
	must  []int32  // ascending positions
	not   []uint64 // set of the positions of excluded nodes; nil: none
	names string   // both, for comparisons
}

// excludes reports whether the demand must not get a node.
func (q *demand) excludes(pos int32) bool { return q.not != nil && hasBit(q.not, int(pos)) }

// fit is a place for a demand: a row, and CPUs and ranks on nodes.
type fit struct {
	row        int
	nodeShares []nodeShare
}

// anyGrowth lets a placement lengthen the rotation without bound.
const anyGrowth = math.MaxInt

// pick is a node chosen for a demand.
type pick struct {
	pos      int32
	cap      int32 // ranks it can take; with maxRanks, the CPUs that ranks share
	maxRanks int32 // ranks it can take if they share CPUs
	ranks    int32
}

// finder finds fits. It holds only scratch space: a search that fails allocates nothing.
type finder struct {
	nodes    []*node // by position
	rows     []int
	elig     []int32 // positions of nodes that pass the tests that are the same in all rows; must nodes first
	caps     []int32 // per elig: ranks it can take in the row under test; CPUs to share if ranks share them
	maxRanks []int32 // per elig: ranks it can take if they share CPUs
	sorted   []int32 // indices in elig of the optional nodes, largest cap first, then node order
	bucket   []int32
	picks    []pick
	examined int // nodes, in all rows, since the finder was made: what its searches have cost
}

// find returns a fit for q in the fullest row that holds it, so that there are few rows, or in a
// new row. The rotation may get longer by at most growth. Removing gangs from the grid never makes
// a fitting demand unfit.
func (f *finder) find(g *grid, q *demand, growth int) (fit, bool) {
	if q.shared {
		return f.findShared(g, q, growth)
	}
	if !f.listRows(g, q, growth) || !f.listNodes(g, q) {
		return fit{}, false
	}
	for _, r := range f.rows {
		if f.chooseIn(g, q, r) {
			return f.fitIn(g, q, r), true
		}
	}
	return fit{}, false
}

// listRows collects the rows to try: fullest first, then a new one.
func (f *finder) listRows(g *grid, q *demand, growth int) bool {
	f.rows = f.rows[:0]
	for r := range g.rows {
		row := &g.rows[r]
		if row.gangs > 0 && row.growth(q.weight) <= growth && (q.shared || row.mayHold(q)) {
			f.rows = append(f.rows, r)
		}
	}
	slices.SortFunc(f.rows, func(a, b int) int {
		if d := g.rows[a].total - g.rows[b].total; d != 0 {
			return d
		}
		return a - b
	})
	if r, ok := g.newRow(); ok && q.weight <= growth {
		f.rows = append(f.rows, r)
	}
	return len(f.rows) > 0
}

// mayHold reports whether the row could hold q if all nodes had enough memory and channels. It
// reads the histogram of free CPUs: 64 steps instead of 1,000 nodes for most of a long queue.
func (r *gridRow) mayHold(q *demand) bool {
	if r.total < q.tasks*q.cpus {
		return false
	}
	tasks, nodes := 0, 0
	for f := len(r.hist) - 1; f >= q.cpus; f-- {
		n := int(r.hist[f])
		if n == 0 {
			continue
		}
		tasks += n * (f / q.cpus)
		nodes += n
		if tasks >= q.tasks && nodes >= q.nodes {
			return true
		}
	}
	return false
}

// listNodes collects the nodes with enough memory that are neither drained, excluded nor closed by
// exclusivity.
func (f *finder) listNodes(g *grid, q *demand) bool {
	f.examined += len(g.mem)
	f.elig = f.elig[:0]
	for _, pos := range q.must {
		if !g.open(q, pos) {
			return false
		}
		f.elig = append(f.elig, pos)
	}
	must := q.must
	for pos := range int32(len(g.mem)) {
		if len(must) > 0 && must[0] == pos {
			must = must[1:]
			continue
		}
		if g.open(q, pos) {
			f.elig = append(f.elig, pos)
		}
	}
	if q.not != nil {
		f.elig = slices.DeleteFunc(f.elig, q.excludes)
	}
	return len(f.elig) >= max(q.nodes, 1)
}

func (g *grid) open(q *demand, pos int32) bool {
	if g.drained[pos] || (q.mem > 0 && g.mem[pos] < q.mem) {
		return false
	}
	if q.exclusive {
		return g.gangs[pos] == 0
	}
	return g.exclusives[pos] == 0
}

// chooseIn picks nodes and ranks for q in row r, or returns false.
func (f *finder) chooseIn(g *grid, q *demand, r int) bool {
	row := &g.rows[r]
	f.caps = f.caps[:0]
	for i, pos := range f.elig {
		c := row.channelsFor(row.free[pos]/int32(q.cpus), q, pos)
		if f.examined++; c == 0 && i < len(q.must) {
			return false
		}
		f.caps = append(f.caps, c)
	}
	return f.choose(q)
}

// fitIn returns the fit of the picks in row r, with CPUs for each pick.
func (f *finder) fitIn(g *grid, q *demand, r int) fit {
	s := fit{row: r, nodeShares: make([]nodeShare, len(f.picks))}
	for i, p := range f.picks {
		s.nodeShares[i] = nodeShare{node: f.nodes[p.pos], cpus: g.freeCPUs(r, p.pos, int(p.ranks)*q.cpus), ranks: int(p.ranks)}
	}
	return s
}

// freeCPUs returns n free CPUs of a node in row r. It prefers CPUs that are free in all rows, so
// that the gang can run all the time, and low numbers, since neighbours share caches.
func (g *grid) freeCPUs(r int, pos int32, n int) []uint64 {
	words := wordsFor(int(g.cpus[pos]))
	always := slices.Clone(g.bits(g.full, pos)[:words])
	for i := range g.rows {
		if g.rows[i].gangs > 0 {
			subtract(always, g.bits(g.rows[i].busy, pos)[:words])
		}
	}
	if count(always) < n {
		copy(always, g.bits(g.full, pos))
		subtract(always, g.bits(g.rows[r].busy, pos)[:words])
	}
	keepLow(always, n)
	return always
}
