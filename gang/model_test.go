package gang

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestModel drives two machines with the same random calls, checks the invariants after each, and
// that both decide alike; now and then it rebuilds a third from what the first reports.
func TestModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		for range rapid.IntRange(10, 60).Draw(t, "steps") {
			w.step(t)
			checkInvariants(t, w.m)
		}
		w.checkRestore(t)
	})
}

type world struct {
	m, twin *Machine
	now     int64
	nextJob JobID
	nodes   []NodeID
	jobs    []JobID
	reqs    map[JobID]Request
}

func newWorld(t *rapid.T) *world {
	cfg := Config{MaxRows: rapid.IntRange(1, 4).Draw(t, "rows")}
	w := &world{m: New(cfg), twin: New(cfg), now: 1, reqs: make(map[JobID]Request)}
	for range rapid.IntRange(1, 4).Draw(t, "nodes") {
		w.addNode(t)
	}
	return w
}

// both makes the same call on both machines and compares the answers.
func both[T any](t *rapid.T, w *world, call func(*Machine) T) T {
	a, b := call(w.m), call(w.twin)
	if !reflect.DeepEqual(a, b) {
		t.Fatalf("the same calls gave %+v and %+v", a, b)
	}
	return a
}

func (w *world) step(t *rapid.T) {
	switch kind := rapid.IntRange(0, 21).Draw(t, "step"); {
	case kind < 8:
		w.submit(t)
	case kind < 11:
		w.end(t)
	case kind < 17:
		w.schedule(t)
	case kind == 17:
		w.changeNode(t)
	case kind == 18:
		w.idle(t)
	case kind == 19:
		w.sleep(t)
	case kind == 20:
		w.setOwners(t)
	default:
		cfg := w.m.cfg
		cfg.MaxRows = rapid.IntRange(1, 4).Draw(t, "rows")
		cfg.AgePerPoint = rapid.SampledFrom([]time.Duration{time.Millisecond, time.Minute}).Draw(t, "age")
		cfg.WeightStep = rapid.SampledFrom([]int{1, 100}).Draw(t, "weight step")
		both(t, w, func(m *Machine) error { return m.Configure(cfg) })
	}
	both(t, w, (*Machine).Rows)
	both(t, w, func(m *Machine) string { return m.Matrix().String() })
	for _, id := range w.jobs {
		e := both(t, w, func(m *Machine) Explanation { e, _ := m.Explain(id, w.now); return e })
		if e.Job != id || (!e.Running && len(e.Reasons) == 0) {
			t.Fatalf("job %d is explained by %+v", id, e)
		}
	}
}

func (w *world) setOwners(t *rapid.T) {
	owners := make(map[OwnerID]Owner)
	for id := range OwnerID(2) {
		owners[id+1] = Owner{
			Share:   rapid.SampledFrom([]int{0, 1, 30, 100, 200, 1 << 30}).Draw(t, "share"),
			Points:  rapid.SampledFrom([]int{0, 1, 50, -3, 1 << 30}).Draw(t, "points"),
			MaxJobs: rapid.IntRange(0, 2).Draw(t, "most jobs"), MaxCPUs: rapid.IntRange(0, 9).Draw(t, "most CPUs"),
		}
	}
	both(t, w, func(m *Machine) bool { return m.SetOwners(owners) })
}

func (w *world) addNode(t *rapid.T) {
	n := Node{
		ID:       NodeID(fmt.Sprint("n", rapid.IntRange(1, 12).Draw(t, "node"))),
		CPUs:     rapid.SampledFrom([]int{1, 2, 4, 64, 65}).Draw(t, "cpus"),
		Memory:   rapid.Int64Range(1, 8).Draw(t, "memory"),
		Channels: rapid.SampledFrom([]int{0, 1, 4, 16, 100}).Draw(t, "channels"),
	}
	if err := both(t, w, func(m *Machine) error { return m.AddNode(n) }); err == nil {
		w.nodes = append(w.nodes, n.ID)
	}
}

func (w *world) changeNode(t *rapid.T) {
	if len(w.nodes) == 0 {
		w.addNode(t)
		return
	}
	id := rapid.SampledFrom(w.nodes).Draw(t, "which node")
	switch rapid.IntRange(0, 3).Draw(t, "change") {
	case 0:
		w.addNode(t)
	case 1:
		both(t, w, func(m *Machine) error { return m.SetDrain(id, true) })
	case 2:
		both(t, w, func(m *Machine) error { return m.SetDrain(id, false) })
	case 3:
		both(t, w, func(m *Machine) []JobID { lost, _ := m.RemoveNode(id); return lost })
		w.nodes = slices.DeleteFunc(w.nodes, func(n NodeID) bool { return n == id })
	}
}

func (w *world) submit(t *rapid.T) {
	w.nextJob++
	r := Request{
		ID:            w.nextJob,
		Owner:         OwnerID(rapid.IntRange(0, 2).Draw(t, "owner")),
		Tasks:         rapid.SampledFrom([]int{1, 1, 2, 3, 5, 8, 64, 130}).Draw(t, "tasks"),
		CPUsPerTask:   rapid.SampledFrom([]int{0, 1, 1, 2}).Draw(t, "cpus"),
		MemPerNode:    rapid.Int64Range(0, 5).Draw(t, "memory"),
		Channels:      rapid.SampledFrom([]int{0, 0, 1, 1, 2, 5}).Draw(t, "channels"),
		Priority:      rapid.SampledFrom([]int{-10, 0, 0, 0, 100, 400}).Draw(t, "priority"),
		Exclusive:     rapid.IntRange(0, 7).Draw(t, "exclusive") == 0,
		Oversubscribe: rapid.IntRange(0, 3).Draw(t, "oversubscribe") == 0,
		Cyclic:        rapid.Bool().Draw(t, "cyclic"),
		TimeLimit:     time.Duration(rapid.IntRange(0, 3).Draw(t, "limit")) * time.Second,
		Submitted:     w.now,
	}
	if rapid.IntRange(0, 2).Draw(t, "by nodes") == 0 {
		r.Nodes = min(rapid.IntRange(1, 3).Draw(t, "nodes"), r.Tasks)
	}
	if len(w.nodes) > 0 && rapid.IntRange(0, 5).Draw(t, "listed") == 0 {
		r.NodeList = []NodeID{rapid.SampledFrom(w.nodes).Draw(t, "list")}
	}
	if rapid.IntRange(0, 3).Draw(t, "excludes") == 0 {
		r.Exclude = rapid.SliceOfN(rapid.SampledFrom(append(w.nodes, "n1", "n99")), 1, 3).Draw(t, "exclude")
	}
	if len(w.jobs) > 0 && rapid.IntRange(0, 5).Draw(t, "joins") == 0 {
		r.With = rapid.SampledFrom(w.jobs).Draw(t, "with")
	}
	if err := both(t, w, func(m *Machine) error { return m.Submit(r) }); err == nil {
		w.jobs = append(w.jobs, r.ID)
		w.reqs[r.ID] = r
	}
}

func (w *world) end(t *rapid.T) {
	if len(w.jobs) == 0 {
		return
	}
	i := rapid.IntRange(0, len(w.jobs)-1).Draw(t, "which job")
	if !both(t, w, func(m *Machine) bool { return m.Remove(w.jobs[i]) }) {
		t.Fatalf("job %d is unknown", w.jobs[i])
	}
	w.jobs = slices.Delete(w.jobs, i, i+1)
}

func (w *world) idle(t *rapid.T) {
	if len(w.jobs) > 0 {
		id := rapid.SampledFrom(w.jobs).Draw(t, "which job")
		idle := rapid.Bool().Draw(t, "idle")
		both(t, w, func(m *Machine) bool { return m.SetIdle(id, idle) })
	}
}

func (w *world) sleep(t *rapid.T) {
	if len(w.jobs) > 0 {
		id := rapid.SampledFrom(w.jobs).Draw(t, "which job")
		asleep := rapid.Bool().Draw(t, "asleep")
		both(t, w, func(m *Machine) bool { return m.SetAsleep(id, asleep) })
	}
}

func (w *world) schedule(t *rapid.T) {
	w.now += rapid.Int64Range(0, int64(time.Second)).Draw(t, "time")
	rows := w.m.grid.present()
	d := both(t, w, func(m *Machine) Decision { return m.Schedule(w.now) })
	if now := w.m.grid.present(); now > rows && now > w.m.cfg.MaxRows {
		t.Fatalf("%d rows, %d allowed", now, w.m.cfg.MaxRows)
	}
	if again := w.m.Schedule(w.now); !again.Empty() {
		t.Fatalf("a second pass decided %+v", again)
	}
	w.twin.Schedule(w.now)
	for _, mv := range d.Move {
		if a, ok := w.m.Allocation(mv.Job); !ok || a.Row != mv.To || mv.From == mv.To {
			t.Fatalf("move %+v, but the job is at %+v", mv, a)
		}
	}
	w.checkHead(t)
}

// checkHead: the first in the queue that can run at all does not fit, or it would have started.
func (w *world) checkHead(t *rapid.T) {
	w.m.countOwners()
	for _, j := range w.m.queue {
		if !w.m.possible(j) || w.m.withheld(j) {
			continue
		}
		if w.m.head.job != j {
			t.Fatalf("job %d waits first, but is not the head", j.req.ID)
		}
		if _, ok := w.m.fitFor(w.m.grid, j, anyGrowth); ok {
			t.Fatalf("the head %d fits, but waits", j.req.ID)
		}
		return
	}
	if w.m.head.job != nil {
		t.Fatalf("nobody can wait first, but %d does", w.m.head.job.req.ID)
	}
}

// checkRestore rebuilds a machine as a new leader does.
func (w *world) checkRestore(t *rapid.T) {
	m := New(w.m.cfg)
	for _, n := range w.m.nodes {
		if err := m.AddNode(n.Node); err != nil {
			t.Fatal(err)
		}
	}
	for _, id := range w.jobs {
		if a, ok := w.m.Allocation(id); ok && !w.m.jobs[id].lost {
			if err := m.Restore(w.reqs[id], a); err != nil {
				t.Fatalf("job %d: %v", id, err)
			}
		} else if ok {
			w.m.Remove(id) // its node has gone: the new leader ends it
		}
	}
	m.SetOwners(w.m.owners)
	checkInvariants(t, m)
	for r := range w.m.grid.rows {
		if r < len(m.grid.rows) && (!slices.Equal(m.grid.rows[r].busy, w.m.grid.rows[r].busy) ||
			!slices.Equal(m.grid.rows[r].channels, w.m.grid.rows[r].channels)) {
			t.Fatalf("row %d is not restored", r)
		}
	}
	if !slices.Equal(m.grid.mem, w.m.grid.mem) || !reflect.DeepEqual(rowsOf(m), rowsOf(w.m)) {
		t.Fatalf("restored\n%v from\n%v", m.Matrix(), w.m.Matrix())
	}
}

// rowsOf is Rows as if no job were idle or asleep, since that is not part of an allocation.
func rowsOf(m *Machine) []RotationRow {
	for id := range m.jobs {
		m.SetIdle(id, false)
		m.SetAsleep(id, false)
	}
	return m.Rows()
}

// TestRestoreAnything: whatever an allocation says, it is refused or leaves the machine sound.
func TestRestoreAnything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		small := func(name string) int { return rapid.IntRange(-1, 4).Draw(t, name) }
		for id := range JobID(rapid.IntRange(1, 8).Draw(t, "jobs")) {
			a := Allocation{Job: id + 1, Gang: JobID(rapid.IntRange(0, 3).Draw(t, "gang")), Row: small("row")}
			r := Request{ID: id + 1, Channels: max(small("channels"), 0), MemPerNode: int64(max(small("memory"), 0)), Exclusive: small("exclusive") == 4}
			for range rapid.IntRange(0, 3).Draw(t, "places") {
				p := Place{Node: rapid.SampledFrom(append(w.nodes, "n99")).Draw(t, "node")}
				p.CPUs = rapid.SliceOfN(rapid.IntRange(-1, 64), 0, 3).Draw(t, "cpus")
				p.Ranks = make([]int, rapid.IntRange(0, 2).Draw(t, "ranks"))
				r.Tasks += len(p.Ranks)
				a.Places = append(a.Places, p)
			}
			before := w.m.Matrix().String()
			err := w.m.Restore(r, a)
			checkTaken(t, w.m)
			checkGrid(t, w.m)
			checkRows(t, w.m)
			if after := w.m.Matrix().String(); err != nil && after != before {
				t.Fatalf("%v, but changed\n%v to\n%v", err, before, after)
			}
		}
		w.m.Schedule(1)
		checkTaken(t, w.m)
		checkGrid(t, w.m)
	})
}
