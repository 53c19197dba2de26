package gang

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestFindIsExact compares the finder with a plain statement of what fits.
func TestFindIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		for range rapid.IntRange(0, 12).Draw(t, "jobs") {
			w.submit(t)
			w.schedule(t)
		}
		w.submit(t)
		for _, j := range w.m.queue {
			q := w.m.prepare(j)
			s, ok := w.m.fitFor(w.m.grid, j, anyGrowth)
			if want := j.named && fitsSomewhere(w.m.grid, q); ok != want {
				t.Fatalf("job %+v: found %v, fits %v in\n%v", j.req, ok, want, w.m.Matrix())
			}
			if ok {
				checkFit(t, w.m, q, s)
			}
		}
	})
}

func fitsSomewhere(g *grid, q *demand) bool {
	newRow := g.present() < g.maxRows
	for r := range g.rows {
		if (g.rows[r].gangs > 0 || newRow) && fitsIn(g, q, r) {
			return true
		}
	}
	return false
}

func fitsIn(g *grid, q *demand, r int) bool {
	var must, others []int
	for pos := range int32(len(g.cpus)) {
		free, capacity := int(g.rows[r].free[pos]), 0
		switch {
		case !mayGet(g, q, pos):
		case !q.shared:
			capacity = free / q.cpus
		case free == int(g.cpus[pos]):
			capacity = MaxRanksPerNode
		}
		if q.channels > 0 {
			capacity = min(capacity, int(g.rows[r].channels[pos])/q.channels)
		}
		if slices.Contains(q.must, pos) {
			must = append(must, capacity)
		} else if capacity > 0 {
			others = append(others, capacity)
		}
	}
	slices.SortFunc(others, func(a, b int) int { return b - a })
	nodes := len(must) + len(others)
	if q.nodes > 0 {
		nodes = q.nodes
	}
	if slices.Contains(must, 0) || nodes == 0 || nodes-len(must) > len(others) {
		return false
	}
	room := 0
	for _, c := range append(must, others[:nodes-len(must)]...) {
		room += c
	}
	return room >= q.tasks
}

// mayGet reports whether the job may have CPUs of a node.
func mayGet(g *grid, q *demand, pos int32) bool {
	return g.open(q, pos) && (q.not == nil || !hasBit(q.not, int(pos)))
}

func checkFit(t *rapid.T, m *Machine, q *demand, s fit) {
	ranks := 0
	for i, nodeShare := range s.nodeShares {
		ranks += nodeShare.ranks
		if nodeShare.ranks < 1 || (i > 0 && s.nodeShares[i-1].node.pos >= nodeShare.node.pos) {
			t.Fatalf("bad seats %+v", s.nodeShares)
		}
		if intersects(m.grid.bits(m.grid.rows[s.row].busy, nodeShare.node.pos), nodeShare.cpus) {
			t.Fatalf("taken CPUs on %s", nodeShare.node.ID)
		}
		if nodeShare.ranks*q.channels > int(m.grid.rows[s.row].channels[nodeShare.node.pos]) {
			t.Fatalf("taken channels on %s", nodeShare.node.ID)
		}
		if !q.shared && count(nodeShare.cpus) != nodeShare.ranks*q.cpus {
			t.Fatalf("%d CPUs for %d ranks", count(nodeShare.cpus), nodeShare.ranks)
		}
	}
	if ranks != q.tasks || (q.nodes > 0 && len(s.nodeShares) != q.nodes) {
		t.Fatalf("%d ranks on %d nodes for %+v", ranks, len(s.nodeShares), q.shape)
	}
	if q.nodes == 0 && !q.shared && len(q.must) == 0 {
		checkFewest(t, m, q, s)
	}
}

// checkFewest: without a number of nodes, no node less would do in that row.
func checkFewest(t *rapid.T, m *Machine, q *demand, s fit) {
	var caps []int
	for pos := range int32(len(m.grid.cpus)) {
		if mayGet(m.grid, q, pos) {
			c := int(m.grid.rows[s.row].free[pos]) / q.cpus
			if q.channels > 0 {
				c = min(c, int(m.grid.rows[s.row].channels[pos])/q.channels)
			}
			caps = append(caps, c)
		}
	}
	slices.SortFunc(caps, func(a, b int) int { return b - a })
	room := 0
	for _, c := range caps[:len(s.nodeShares)-1] {
		room += c
	}
	if room >= q.tasks {
		t.Fatalf("%d nodes where %d would do", len(s.nodeShares), len(s.nodeShares)-1)
	}
}
