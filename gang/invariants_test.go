package gang

import (
	"slices"
	"testing"
)

// tb is what both *testing.T and *rapid.T offer.
type tb interface {
	Helper()
	Fatalf(format string, args ...any)
}

// checkInvariants recounts everything from the jobs and compares it with what the machine
// believes.
func checkInvariants(t tb, m *Machine) {
	t.Helper()
	checkJobs(t, m)
	checkTaken(t, m)
	checkGrid(t, m)
	checkRows(t, m)
}

func checkJobs(t tb, m *Machine) {
	t.Helper()
	placed := 0
	for _, ga := range m.gangs {
		if len(ga.members) == 0 {
			t.Fatalf("gang %d is empty", ga.id)
		}
		for _, j := range ga.members {
			placed++
			if m.jobs[j.req.ID] != j || j.gang != ga {
				t.Fatalf("job %d of gang %d is not the one that is known", j.req.ID, ga.id)
			}
			checkWhole(t, j)
		}
	}
	if placed+len(m.queue)+len(m.joins) != len(m.jobs) {
		t.Fatalf("%d placed, %d queued, %d joining of %d jobs", placed, len(m.queue), len(m.joins), len(m.jobs))
	}
	for _, list := range [][]*job{m.queue, m.joins, m.fresh} {
		if !slices.IsSortedFunc(list, compareJobs) {
			t.Fatalf("a queue is out of order")
		}
		for _, j := range list {
			if m.jobs[j.req.ID] != j || j.gang != nil {
				t.Fatalf("queued job %d is unknown or placed", j.req.ID)
			}
		}
	}
	if h := m.head.job; h != nil && !slices.Contains(m.queue, h) {
		t.Fatalf("the head %d is not in the queue", h.req.ID)
	}
	if !slices.IsSortedFunc(m.gangs, func(a, b *gang) int { return int(int64(a.id) - int64(b.id)) }) {
		t.Fatalf("gangs are out of order")
	}
}

// checkWhole: all ranks have a place, with CPUs of their own unless they may share.
func checkWhole(t tb, j *job) {
	t.Helper()
	var ranks []int
	nodes := make(map[NodeID]bool)
	for _, p := range j.places {
		ranks = append(ranks, p.Ranks...)
		nodes[p.Node] = true
		own := len(p.CPUs) >= len(p.Ranks)*j.req.CPUsPerTask
		if !own && !j.req.Oversubscribe && j.req.With == 0 {
			t.Fatalf("job %d has %d CPUs for %d ranks on %s", j.req.ID, len(p.CPUs), len(p.Ranks), p.Node)
		}
		if len(p.CPUs) == 0 || len(p.Ranks) == 0 || len(p.Ranks) > MaxRanksPerNode ||
			!slices.IsSorted(p.CPUs) || !slices.IsSorted(p.Ranks) {
			t.Fatalf("job %d has a bad place %+v", j.req.ID, p)
		}
	}
	slices.Sort(ranks)
	for i, r := range ranks {
		if i != r {
			t.Fatalf("job %d has ranks %v", j.req.ID, ranks)
		}
	}
	if len(ranks) != j.req.Tasks || len(nodes) != len(j.places) || (j.req.Nodes > 0 && len(nodes) != j.req.Nodes) {
		t.Fatalf("job %d asked for %d ranks on %d nodes, got %d on %d", j.req.ID, j.req.Tasks, j.req.Nodes, len(ranks), len(nodes))
	}
	for _, id := range j.req.NodeList {
		if !nodes[id] {
			t.Fatalf("job %d is not on %s", j.req.ID, id)
		}
	}
	for _, id := range j.req.Exclude {
		if nodes[id] {
			t.Fatalf("job %d is on %s", j.req.ID, id)
		}
	}
}

// checkTaken: no CPU and no channel twice in a row, no memory twice, exclusive nodes alone.
func checkTaken(t tb, m *Machine) {
	t.Helper()
	type cpu struct {
		row  int
		node NodeID
		cpu  int
	}
	type line struct {
		row  int
		node *node
	}
	owner := make(map[cpu]*gang)
	channels := make(map[line]int)
	mem := make(map[*node]int64)
	on := make(map[*node][]*gang)
	for _, ga := range m.gangs {
		for _, j := range ga.members {
			for _, s := range j.nodeShares {
				mem[s.node] += j.req.MemPerNode
				channels[line{ga.row, s.node}] += s.ranks * j.req.Channels
				if !slices.Contains(on[s.node], ga) {
					on[s.node] = append(on[s.node], ga)
				}
				for _, c := range indices(s.cpus) {
					at := cpu{ga.row, s.node.ID, c}
					if other := owner[at]; other != nil && other != ga {
						t.Fatalf("%+v is of gangs %d and %d", at, other.id, ga.id)
					}
					owner[at] = ga
				}
			}
		}
	}
	for at, n := range channels {
		if n > at.node.Channels {
			t.Fatalf("%d channels of %d are taken in row %d of %s", n, at.node.Channels, at.row, at.node.ID)
		}
	}
	for _, n := range m.nodes {
		if mem[n] > n.Memory {
			t.Fatalf("%d bytes of %d are reserved on %s", mem[n], n.Memory, n.ID)
		}
		if len(on[n]) > 1 && slices.ContainsFunc(on[n], func(ga *gang) bool { return ga.exclusive }) {
			t.Fatalf("an exclusive gang is not alone on %s", n.ID)
		}
	}
}

// checkGrid compares the grid with one made from scratch.
func checkGrid(t tb, m *Machine) {
	t.Helper()
	want := newGrid(m.nodes, m.cfg.MaxRows, len(m.grid.rows))
	for _, ga := range m.gangs {
		want.add(ga)
	}
	got := m.grid
	if !slices.Equal(got.mem, want.mem) || !slices.Equal(got.gangs, want.gangs) || !slices.Equal(got.exclusives, want.exclusives) {
		t.Fatalf("the grid's nodes are off")
	}
	for r := range want.rows {
		a, b := &got.rows[r], &want.rows[r]
		if !slices.Equal(a.channels, b.channels) || !slices.Equal(a.busy, b.busy) || !slices.Equal(a.free, b.free) || !slices.Equal(a.hist, b.hist) ||
			a.total != b.total || a.weights != b.weights || a.gangs != b.gangs {
			t.Fatalf("the grid's row %d is off", r)
		}
	}
}

// checkRows: each runnable job runs in its home row, whole gangs run, no CPU is used twice at a
// time, and no more channels than a node has.
func checkRows(t tb, m *Machine) {
	t.Helper()
	rows := m.Rows()
	for i, row := range rows {
		if row.Slice < MinSlice || row.Slice > MaxWeight*max(m.cfg.Slice/UsualWeight, MinSlice) || !slices.IsSorted(row.Jobs) {
			t.Fatalf("bad row %+v", row)
		}
		taken := m.newOccupancy()
		taken.clear(m.grid)
		m.reserve(taken)
		checkConnected(t, m, i)
		for _, ga := range m.residents[i] {
			if !m.take(taken, ga) {
				t.Fatalf("gang %d collides in row %d", ga.id, row.Index)
			}
		}
		for _, ga := range m.gangs {
			if ga.row == row.Index && ga.hasTurn() && !slices.Contains(m.residents[i], ga) {
				t.Fatalf("gang %d does not run at home", ga.id)
			}
			if ga.hasTurn() && !slices.Contains(m.residents[i], ga) && m.take(taken, ga) {
				t.Fatalf("gang %d could run in row %d", ga.id, row.Index)
			}
		}
	}
	checkSleepers(t, m, rows)
	if len(rows) > max(m.cfg.MaxRows, len(m.grid.rows)) {
		t.Fatalf("%d rows", len(rows))
	}
}

// checkConnected recounts from the jobs the channels of all gangs that run in a row, guests
// included.
func checkConnected(t tb, m *Machine, row int) {
	t.Helper()
	used := make(map[*node]int)
	for _, ga := range slices.Concat(m.residents[row], m.sleepers) {
		for _, j := range ga.members {
			for _, s := range j.nodeShares {
				used[s.node] += s.ranks * j.req.Channels
			}
		}
	}
	state := m.Matrix().Nodes
	for n, channels := range used {
		if channels > n.Channels || channels > state[n.pos].UsedChannels {
			t.Fatalf("%d channels at a time in row %d of %s, which has %d and tells of %d",
				channels, m.rows[row].Index, n.ID, n.Channels, state[n.pos].UsedChannels)
		}
	}
}

// checkSleepers: a gang that rests sleeps, is let run in every row and has a turn in none; while
// there is one, there is a row. Without channels all that sleep rest.
func checkSleepers(t tb, m *Machine, rows []RotationRow) {
	t.Helper()
	for _, ga := range m.gangs {
		if ga.rests && (len(rows) == 0 || !ga.asleep()) || ga.asleep() && !ga.rests && !ga.connected() {
			t.Fatalf("gang %d sleeps: %v, rests: %v, in %d rows", ga.id, ga.asleep(), ga.rests, len(rows))
		}
		for _, row := range rows {
			for _, j := range ga.members {
				has := slices.Contains(row.Asleep, j.req.ID)
				if has != (j.runnable() && ga.rests) || has && row.runs(j.req.ID) {
					t.Fatalf("job %d of a gang that rests: %v, in row %+v", j.req.ID, ga.rests, row)
				}
			}
		}
	}
}

func (ga *gang) connected() bool {
	return slices.ContainsFunc(ga.nodeShares, func(s nodeShare) bool { return s.channels > 0 })
}

// pass schedules and checks.
func pass(t tb, m *Machine, now int64) Decision {
	t.Helper()
	d := m.Schedule(now)
	checkInvariants(t, m)
	return d
}

func newMachine(t testing.TB, cfg Config, nodes ...Node) *Machine {
	t.Helper()
	if err := cfg.Validate(); err != nil {
		t.Fatal(err)
	}
	m := New(cfg)
	for _, n := range nodes {
		if err := m.AddNode(n); err != nil {
			t.Fatal(err)
		}
	}
	return m
}
