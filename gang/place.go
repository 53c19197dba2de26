package gang

import (
	"math"
	"slices"
)

// shape is what decides whether and where a request fits: requests of equal shape
// have equal answers, which lets a pass ask once for thousands of jobs.
type shape struct {
	tasks, nodes, cpus int
	mem                int64
	weight             int
	exclusive, shared  bool // shared: ranks share CPUs, see Machine.shapeOf
}

// quest is a shape and the nodes that must be in it.
type quest struct {
	shape
	must []int32 // ascending positions
}

// spot is where a quest fits.
type spot struct {
	row   int
	seats []seat
}

// anyGrowth lets a placement lengthen the rotation by whatever it takes.
const anyGrowth = math.MaxInt

// pick is a node chosen for a quest.
type pick struct {
	pos   int32
	cap   int32 // ranks it can take
	ranks int32
}

// finder looks for spots. It holds only scratch space: searching for what
// does not fit allocates nothing.
type finder struct {
	nodes  []*node // by position
	rows   []int
	elig   []int32 // positions of nodes that pass the tests that are the same in all rows; must nodes first
	caps   []int32 // per elig: ranks it can take in the row looked at
	sorted []int32 // indices in caps of the optional nodes, largest cap first, then node order
	bucket []int32
	picks  []pick
}

// find returns the spot for q in the fullest row where it fits, so that rows
// stay few, or else in a new row. growth bounds by how much the rotation may get
// longer. Whatever else is in the grid: taking things out of it never makes a quest
// fit less.
func (f *finder) find(g *grid, q *quest, growth int) (spot, bool) {
	if q.shared {
		return f.findShared(g, q, growth)
	}
	if !f.listRows(g, q, growth) || !f.listNodes(g, q) {
		return spot{}, false
	}
	for _, r := range f.rows {
		if f.chooseIn(g, q, r) {
			return f.seatIn(g, q, r), true
		}
	}
	return spot{}, false
}

// listRows collects the rows worth a look: fullest first, then a new one.
func (f *finder) listRows(g *grid, q *quest, growth int) bool {
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

// mayHold tells from the histogram of free CPUs whether the row could hold q if all nodes had
// memory: 64 steps instead of 1,000 nodes for most of a long queue.
func (r *gridRow) mayHold(q *quest) bool {
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

// listNodes collects the nodes with memory, not drained, and not closed by exclusivity.
func (f *finder) listNodes(g *grid, q *quest) bool {
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
	return len(f.elig) >= max(q.nodes, 1)
}

func (g *grid) open(q *quest, pos int32) bool {
	if g.drained[pos] || (q.mem > 0 && g.mem[pos] < q.mem) {
		return false
	}
	if q.exclusive {
		return g.gangs[pos] == 0
	}
	return g.lone[pos] == 0
}

// chooseIn sets picks to the nodes and ranks for q in row r, or returns false.
func (f *finder) chooseIn(g *grid, q *quest, r int) bool {
	free := g.rows[r].free
	f.caps = f.caps[:0]
	for _, pos := range f.elig {
		f.caps = append(f.caps, free[pos]/int32(q.cpus))
	}
	return f.choose(q)
}

// choose works on elig and caps. It finds a choice whenever there is one.
func (f *finder) choose(q *quest) bool {
	sum, nodes := 0, 0
	for i, c := range f.caps {
		if c > 0 {
			sum += int(c)
			nodes++
		} else if i < len(q.must) {
			return false
		}
	}
	if sum < q.tasks || nodes < max(q.nodes, 1) {
		return false
	}
	f.picks = f.picks[:0]
	for i := range q.must {
		f.picks = append(f.picks, pick{pos: f.elig[i], cap: f.caps[i]})
	}
	f.sortByCap(len(q.must))
	if q.nodes == 0 {
		f.packed(q)
		return true
	}
	return f.even(q)
}

// sortByCap fills sorted by counting, since there are few different caps.
func (f *finder) sortByCap(from int) {
	f.bucket = f.bucket[:0]
	for _, c := range f.caps[from:] {
		for int(c) >= len(f.bucket) {
			f.bucket = append(f.bucket, 0)
		}
		f.bucket[c]++
	}
	at := int32(0)
	for c := len(f.bucket) - 1; c > 0; c-- {
		f.bucket[c], at = at, at+f.bucket[c]
	}
	f.sorted = slices.Grow(f.sorted[:0], int(at))[:at]
	for i := from; i < len(f.caps); i++ {
		if c := f.caps[i]; c > 0 {
			f.sorted[f.bucket[c]] = int32(i)
			f.bucket[c]++
		}
	}
}

func (f *finder) take(i int32) {
	f.picks = append(f.picks, pick{pos: f.elig[i], cap: f.caps[i]})
}

// packed takes as few nodes as fit: the largest, and for the rest the one with
// the smallest hole that is large enough.
func (f *finder) packed(q *quest) {
	left := int32(q.tasks)
	for i := range f.picks {
		left -= f.picks[i].cap
	}
	for i := 0; left > 0; i++ {
		if f.caps[f.sorted[i]] >= left {
			f.take(f.sorted[f.tightest(i, left)])
			break
		}
		f.take(f.sorted[i])
		left -= f.caps[f.sorted[i]]
	}
	left = int32(q.tasks)
	for i := range f.picks {
		p := &f.picks[i]
		p.ranks = min(p.cap, left-int32(len(f.picks)-i-1)) // one at least for each node after it
		left -= p.ranks
	}
	f.inNodeOrder()
}

// tightest is the index in sorted, from i on, of the first node of the smallest cap
// that is at least need.
func (f *finder) tightest(i int, need int32) int {
	end := i
	for end < len(f.sorted) && f.caps[f.sorted[end]] >= need {
		end++
	}
	best := end - 1
	for best > i && f.caps[f.sorted[best-1]] == f.caps[f.sorted[best]] {
		best--
	}
	return best
}

// even takes exactly q.nodes nodes and spreads the ranks evenly: the tightest nodes that
// take an equal share each, or else the largest ones.
func (f *finder) even(q *quest) bool {
	need := q.nodes - len(f.picks)
	share := int32((q.tasks + q.nodes - 1) / q.nodes)
	for i := range f.picks {
		if f.picks[i].cap < share {
			share = math.MaxInt32 // a must node is too small for an equal share
		}
	}
	wide := 0 // nodes that can take a share
	for wide < len(f.sorted) && f.caps[f.sorted[wide]] >= share {
		wide++
	}
	if wide >= need {
		f.takeTightest(f.sorted[:wide], need)
	} else {
		for _, i := range f.sorted[:need] {
			f.take(i)
		}
	}
	f.inNodeOrder()
	return f.level(q.tasks)
}

// takeTightest takes the need smallest of nodes sorted by falling cap, among equals
// the first in node order.
func (f *finder) takeTightest(sorted []int32, need int) {
	for end := len(sorted); need > 0; {
		start := end - 1
		for start > 0 && f.caps[sorted[start-1]] == f.caps[sorted[end-1]] {
			start--
		}
		n := min(need, end-start)
		for _, i := range sorted[start : start+n] {
			f.take(i)
		}
		need -= n
		end = start
	}
}

// level gives the picks equal numbers of ranks as far as their caps allow,
// the earlier nodes one more where it does not divide.
func (f *finder) level(tasks int) bool {
	sum, top := 0, int32(0)
	for _, p := range f.picks {
		sum += int(p.cap)
		top = max(top, p.cap)
	}
	if sum < tasks {
		return false
	}
	low, high := int32(1), top // the lowest level that gives all ranks a place
	for low < high {
		mid := low + (high-low)/2
		if f.filledTo(mid) >= tasks {
			high = mid
		} else {
			low = mid + 1
		}
	}
	excess := f.filledTo(low) - tasks
	for i := len(f.picks) - 1; i >= 0; i-- {
		p := &f.picks[i]
		p.ranks = min(p.cap, low)
		if excess > 0 && p.ranks == low {
			p.ranks--
			excess--
		}
	}
	return true
}

func (f *finder) filledTo(level int32) int {
	n := 0
	for _, p := range f.picks {
		n += int(min(p.cap, level))
	}
	return n
}

func (f *finder) inNodeOrder() {
	slices.SortFunc(f.picks, func(a, b pick) int { return int(a.pos - b.pos) })
}

// seatIn gives each pick its CPUs in row r.
func (f *finder) seatIn(g *grid, q *quest, r int) spot {
	s := spot{row: r, seats: make([]seat, len(f.picks))}
	for i, p := range f.picks {
		s.seats[i] = seat{node: f.nodes[p.pos], cpus: g.freeCPUs(r, p.pos, int(p.ranks)*q.cpus), ranks: int(p.ranks)}
	}
	return s
}

// freeCPUs takes n free CPUs of a node in row r: from those free in all rows if there
// are enough, since there the gang runs all the time; the lowest numbers first,
// since neighbours share caches.
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
