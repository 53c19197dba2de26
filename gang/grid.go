package gang

// grid holds the resources of the cluster that are taken: CPUs and channels per row and node,
// memory and exclusivity per node. It is separate from the jobs and uses flat arrays, so that a
// copy for a what-if question (backfill, explain) is cheap.
type grid struct {
	stride   int      // words of CPU bits per node
	cpus     []int32  // per node: number of CPUs
	full     []uint64 // per node: the bits of all its CPUs
	drained  []bool   // per node: it takes no new gang
	channels []int32  // per node: number of channels, the same in each row

	mem        []int64 // per node: bytes not reserved
	gangs      []int32 // per node: gangs on it, in any row
	exclusives []int32 // per node: exclusive gangs on it (1, or more only in what-ifs)

	maxRows int
	rows    []gridRow
}

type gridRow struct {
	busy  []uint64 // per node: CPUs of the gangs at home in this row
	free  []int32  // per node: number of CPUs not busy
	total int      // sum of free
	hist  []int32  // hist[f]: number of nodes with f free CPUs
	// channels is, per node, the number of channels that the gangs at home in this row leave free.
	// It is negative only in what-ifs.
	channels []int32
	weights  [MaxWeight + 1]int32 // weights[w]: number of gangs with weight w
	gangs    int                  // gangs at home in this row; a row without gangs does not exist
}

// weight returns the highest weight of the row's gangs, 0 for a row that does not exist.
func (r *gridRow) weight() int {
	for w := MaxWeight; w > 0; w-- {
		if r.weights[w] > 0 {
			return w
		}
	}
	return 0
}

// growth returns by how much the rotation gets longer, in weights, if a gang of this weight joins
// the row.
func (r *gridRow) growth(weight int) int { return max(weight-r.weight(), 0) }

func newGrid(nodes []*node, maxRows, rows int) *grid {
	g := &grid{maxRows: maxRows, stride: 1}
	maxCPUs := 0
	for _, n := range nodes {
		maxCPUs = max(maxCPUs, n.CPUs)
	}
	g.stride = max(wordsFor(maxCPUs), 1)
	count := len(nodes)
	g.cpus = make([]int32, count)
	g.full = make([]uint64, count*g.stride)
	g.drained = make([]bool, count)
	g.channels = make([]int32, count)
	g.mem = make([]int64, count)
	g.gangs = make([]int32, count)
	g.exclusives = make([]int32, count)
	for pos, n := range nodes {
		g.cpus[pos] = int32(n.CPUs)
		g.drained[pos] = n.drained
		g.channels[pos] = int32(n.Channels)
		g.mem[pos] = n.Memory
		setLow(g.bits(g.full, int32(pos)), n.CPUs)
	}
	g.rows = make([]gridRow, max(maxRows, rows))
	for r := range g.rows {
		row := &g.rows[r]
		row.busy = make([]uint64, count*g.stride)
		row.free = append([]int32(nil), g.cpus...)
		row.channels = append([]int32(nil), g.channels...)
		row.hist = make([]int32, maxCPUs+1)
		for _, c := range g.cpus {
			row.total += int(c)
			row.hist[c]++
		}
	}
	return g
}

// copyFrom makes g equal to src, reusing g's arrays where they fit.
func (g *grid) copyFrom(src *grid) {
	g.stride, g.maxRows = src.stride, src.maxRows
	g.cpus, g.full, g.drained, g.channels = src.cpus, src.full, src.drained, src.channels // never written after newGrid
	g.mem = append(g.mem[:0], src.mem...)
	g.gangs = append(g.gangs[:0], src.gangs...)
	g.exclusives = append(g.exclusives[:0], src.exclusives...)
	for len(g.rows) < len(src.rows) {
		g.rows = append(g.rows, gridRow{})
	}
	g.rows = g.rows[:len(src.rows)]
	for r := range src.rows {
		g.rows[r].copyFrom(&src.rows[r])
	}
}

func (r *gridRow) copyFrom(src *gridRow) {
	busy, free, hist, channels := r.busy, r.free, r.hist, r.channels
	*r = *src
	r.busy = append(busy[:0], src.busy...)
	r.free = append(free[:0], src.free...)
	r.hist = append(hist[:0], src.hist...)
	r.channels = append(channels[:0], src.channels...)
}

// bits returns the part of a flat CPU array that belongs to one node.
func (g *grid) bits(flat []uint64, pos int32) []uint64 {
	at := int(pos) * g.stride
	return flat[at : at+g.stride : at+g.stride]
}

// present returns the number of rows that exist.
func (g *grid) present() int {
	n := 0
	for r := range g.rows {
		if g.rows[r].gangs > 0 {
			n++
		}
	}
	return n
}

// newRow returns the lowest free index for one more row; false if MaxRows exist.
func (g *grid) newRow() (int, bool) {
	if g.present() >= g.maxRows {
		return 0, false
	}
	for r := range g.rows {
		if g.rows[r].gangs == 0 {
			return r, true
		}
	}
	return 0, false
}

// allows reports whether a gang may be put into row r: the row exists, or one more row may exist.
// It returns false only if MaxRows was lowered after a fit in a higher row was kept for the head.
func (g *grid) allows(r int) bool { return g.rows[r].gangs > 0 || g.present() < g.maxRows }

// length returns the length of the rotation in weights: the sum over all rows.
func (g *grid) length() int {
	n := 0
	for r := range g.rows {
		n += g.rows[r].weight()
	}
	return n
}

// add puts a gang into the grid, and remove takes it out.
func (g *grid) add(ga *gang)    { g.addCPUs(ga); g.connect(ga, -1); g.reserve(ga, -1) }
func (g *grid) remove(ga *gang) { g.removeCPUs(ga); g.connect(ga, +1); g.reserve(ga, +1) }

// reserve takes a gang's memory (sign -1) or returns it (sign +1).
func (g *grid) reserve(ga *gang, sign int64) {
	for _, j := range ga.members {
		for i := range j.nodeShares {
			g.mem[j.nodeShares[i].node.pos] += sign * j.req.MemPerNode
		}
	}
}

// connect takes a gang's channels in its row (sign -1) or returns them (sign +1).
func (g *grid) connect(ga *gang, sign int32) {
	channels := g.rows[ga.row].channels
	for i := range ga.nodeShares {
		channels[ga.nodeShares[i].node.pos] += sign * ga.nodeShares[i].channels
	}
}

func (g *grid) addCPUs(ga *gang) {
	row := &g.rows[ga.row]
	for i := range ga.nodeShares {
		pos := ga.nodeShares[i].node.pos
		union(g.bits(row.busy, pos), ga.nodeShares[i].cpus)
		g.gangs[pos]++
		if ga.exclusive {
			g.exclusives[pos]++
		}
		g.recount(row, pos)
	}
	row.gangs++
	row.weights[ga.weight]++
}

func (g *grid) removeCPUs(ga *gang) {
	row := &g.rows[ga.row]
	for i := range ga.nodeShares {
		pos := ga.nodeShares[i].node.pos
		subtract(g.bits(row.busy, pos), ga.nodeShares[i].cpus)
		g.gangs[pos]--
		if ga.exclusive {
			g.exclusives[pos]--
		}
		g.recount(row, pos)
	}
	row.gangs--
	row.weights[ga.weight]--
}

func (g *grid) recount(row *gridRow, pos int32) {
	was := row.free[pos]
	is := g.cpus[pos] - int32(count(g.bits(row.busy, pos)))
	if was == is {
		return
	}
	row.free[pos] = is
	row.total += int(is - was)
	row.hist[was]--
	row.hist[is]++
}

// channelsFor returns how many of n ranks can have their channels on the node in this row.
func (r *gridRow) channelsFor(n int32, q *demand, pos int32) int32 {
	if q.channels == 0 {
		return n
	}
	return min(n, max(r.channels[pos], 0)/int32(q.channels))
}

// holds reports whether all CPUs and channels of a gang are free in a row.
func (g *grid) holds(r int, ga *gang) bool {
	row := &g.rows[r]
	for i := range ga.nodeShares {
		s := &ga.nodeShares[i]
		if (s.channels > 0 && s.channels > row.channels[s.node.pos]) || intersects(g.bits(row.busy, s.node.pos), s.cpus) {
			return false
		}
	}
	return true
}
