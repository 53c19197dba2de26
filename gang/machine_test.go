package gang

import (
	"errors"
	"reflect"
	"slices"
	"testing"
	"time"
)

func twoNodes(t *testing.T) *Machine {
	t.Helper()
	return newMachine(t, Config{}, Node{ID: "a", CPUs: 4, Memory: 8}, Node{ID: "b", CPUs: 4, Memory: 8})
}

func TestRestoreRefuses(t *testing.T) {
	good := Allocation{Job: 2, Gang: 2, Row: 1, Places: []Place{
		{Node: "a", CPUs: []int{0, 1}, Ranks: []int{0, 1}}, {Node: "b", CPUs: []int{3}, Ranks: []int{2}},
	}}
	with := func(change func(*Request, *Allocation)) (Request, Allocation) {
		r := Request{ID: 2, Tasks: 3, MemPerNode: 3}
		a := good
		a.Places = slices.Clone(good.Places)
		change(&r, &a)
		return r, a
	}
	for _, c := range []struct {
		name   string
		change func(*Request, *Allocation)
		want   error
	}{
		{"good", func(*Request, *Allocation) {}, nil},
		{"row beyond MaxRows", func(_ *Request, a *Allocation) { a.Row = MaxRowsLimit - 1 }, nil},
		{"known job", func(r *Request, a *Allocation) { r.ID, a.Job = 1, 1 }, ErrDuplicateJob},
		{"malformed request", func(r *Request, _ *Allocation) { r.Tasks = 0 }, ErrBadRequest},
		{"of another job", func(_ *Request, a *Allocation) { a.Job = 7 }, ErrConflict},
		{"row", func(_ *Request, a *Allocation) { a.Row = MaxRowsLimit }, ErrConflict},
		{"negative row", func(_ *Request, a *Allocation) { a.Row = -1 }, ErrConflict},
		{"unknown node", func(_ *Request, a *Allocation) { a.Places[0].Node = "c" }, ErrUnknownNode},
		{"node twice", func(_ *Request, a *Allocation) { a.Places[0].Node = "b" }, ErrConflict},
		{"no such CPU", func(_ *Request, a *Allocation) { a.Places[0].CPUs = []int{4} }, ErrConflict},
		{"negative CPU", func(_ *Request, a *Allocation) { a.Places[0].CPUs = []int{-1} }, ErrConflict},
		{"no CPU", func(_ *Request, a *Allocation) { a.Places[0].CPUs = nil }, ErrConflict},
		{"no rank", func(_ *Request, a *Allocation) { a.Places[0].Ranks = nil }, ErrConflict},
		{"ranks missing", func(r *Request, _ *Allocation) { r.Tasks = 4 }, ErrConflict},
		{"no places", func(_ *Request, a *Allocation) { a.Places = nil }, ErrConflict},
		{"memory", func(r *Request, _ *Allocation) { r.MemPerNode = 6 }, ErrConflict},
		{"CPUs taken", func(_ *Request, a *Allocation) { a.Row = 0 }, ErrConflict},
		{"exclusive", func(r *Request, _ *Allocation) { r.Exclusive = true }, ErrConflict},
		{"gang in another row", func(_ *Request, a *Allocation) { a.Gang = 1 }, ErrConflict},
		{"joined", func(_ *Request, a *Allocation) { a.Gang, a.Row = 1, 0 }, nil},
		{"joined, exclusive, alone", func(r *Request, a *Allocation) { a.Gang, a.Row, r.Exclusive = 1, 0, true }, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := twoNodes(t)
			if err := m.Submit(Request{ID: 1, Tasks: 2, MemPerNode: 3}); err != nil {
				t.Fatal(err)
			}
			pass(t, m, 0)
			before := m.Matrix().String()
			err := m.Restore(with(c.change))
			checkInvariants(t, m)
			if !errors.Is(err, c.want) {
				t.Fatalf("%v, want %v", err, c.want)
			}
			if a, ok := m.Allocation(2); (err == nil) != ok {
				t.Fatalf("it has %+v after %v", a, err)
			}
			if err != nil && m.Matrix().String() != before {
				t.Fatalf("refused, but changed to\n%v", m.Matrix())
			}
		})
	}
}

// TestRestoreExclusiveJoiner: it makes its whole gang exclusive, so that must be alone everywhere.
func TestRestoreExclusiveJoiner(t *testing.T) {
	m := twoNodes(t)
	_ = m.Submit(Request{ID: 1, Tasks: 2, Nodes: 2})
	_ = m.Submit(Request{ID: 2, Tasks: 1, NodeList: []NodeID{"b"}})
	pass(t, m, 0)
	a := Allocation{Job: 3, Gang: 1, Places: []Place{{Node: "a", CPUs: []int{0}, Ranks: []int{0}}}}
	if err := m.Restore(Request{ID: 3, Tasks: 1, Exclusive: true}, a); !errors.Is(err, ErrConflict) {
		t.Fatal(err)
	}
	m.Remove(2)
	if err := m.Restore(Request{ID: 3, Tasks: 1, Exclusive: true}, a); err != nil {
		t.Fatal(err)
	}
	checkInvariants(t, m)
}

func TestUnknownNames(t *testing.T) {
	m := twoNodes(t)
	if m.Remove(9) || m.SetIdle(9, true) {
		t.Error("an unknown job was taken")
	}
	if _, ok := m.Explain(9, 0); ok {
		t.Error("an unknown job was explained")
	}
	if _, ok := m.Allocation(9); ok {
		t.Error("an unknown job has a place")
	}
	if err := m.AddNode(Node{CPUs: 1}); !errors.Is(err, ErrBadNode) {
		t.Error(err)
	}
	if err := m.AddNode(Node{ID: "c", CPUs: 1, Memory: -1}); !errors.Is(err, ErrBadNode) {
		t.Error(err)
	}
}

// waitBehind puts a job with a limit on the machine and one that waits for it.
func waitBehind(t *testing.T) *Machine {
	t.Helper()
	m := twoNodes(t)
	for id := range JobID(2) {
		if err := m.Submit(Request{ID: id + 1, Tasks: 2, Nodes: 2, MemPerNode: 6, TimeLimit: 10 * time.Second}); err != nil {
			t.Fatal(err)
		}
	}
	pass(t, m, 0)
	return m
}

func startBy(t *testing.T, m *Machine, now time.Duration) time.Duration {
	t.Helper()
	m.full = true
	pass(t, m, int64(now))
	e, ok := m.Explain(2, int64(now))
	if !ok || e.Running || e.StartBy == 0 || e.Head != 2 || !slices.Equal(e.Reasons, []Reason{ForMemory}) {
		t.Fatalf("%+v", e)
	}
	return time.Duration(e.StartBy)
}

// TestRunTime: a limit is of run time, so an idle job does not come nearer to it.
func TestRunTime(t *testing.T) {
	m := waitBehind(t)
	if got := startBy(t, m, 4*time.Second); got != 10*time.Second {
		t.Errorf("promised %v", got)
	}
	m.SetIdle(1, true)
	m.Schedule(int64(4 * time.Second))
	if got := startBy(t, m, 9*time.Second); got != 15*time.Second {
		t.Errorf("promised %v after 5 s idle", got)
	}
	m.accountRuns(int64(9 * time.Second))
	m.jobs[1].ran = 9 * time.Second
	m.head.promise = 0 // a promise is not made sooner, so look at a new one
	if got := startBy(t, m, 9*time.Second); got != 10*time.Second {
		t.Errorf("promised %v though 1 has 1 s left", got)
	}
	m.jobs[1].ran = 99 * time.Second
	m.head.promise = 0
	if got := startBy(t, m, 9*time.Second); got != 9*time.Second {
		t.Errorf("promised %v though 1 is over its limit", got)
	}
}

// TestResubmit: a job that could not be prepared goes back to its place in the queue.
func TestResubmit(t *testing.T) {
	m := waitBehind(t)
	m.Remove(1)
	if err := m.Submit(Request{ID: 1, Tasks: 2, Nodes: 2, MemPerNode: 6}); err != nil {
		t.Fatal(err)
	}
	d := pass(t, m, 1)
	if len(d.Start) != 1 || d.Start[0].Job != 1 {
		t.Fatalf("%+v", d)
	}
}

// TestCallersSlices: the machine keeps copies of what it is given.
func TestCallersSlices(t *testing.T) {
	m := twoNodes(t)
	list := []NodeID{"b"}
	if err := m.Submit(Request{ID: 1, Tasks: 1, NodeList: list}); err != nil {
		t.Fatal(err)
	}
	list[0] = "a"
	if d := pass(t, m, 0); d.Start[0].Places[0].Node != "b" {
		t.Fatalf("%+v", d)
	}
}

// TestRemoveWhileWaiting: a queued job may be cancelled at any point.
func TestRemoveWhileWaiting(t *testing.T) {
	for _, id := range []JobID{1, 2, 3, 4} {
		m := waitBehind(t)
		_ = m.Submit(Request{ID: 3, Tasks: 1, MemPerNode: 6})
		pass(t, m, 1)
		_ = m.Submit(Request{ID: 4, Tasks: 1, MemPerNode: 6})
		if !m.Remove(id) {
			t.Fatalf("job %d is unknown", id)
		}
		checkInvariants(t, m)
		pass(t, m, 2)
		if m.Waiting()+m.Running() != 3 {
			t.Fatalf("%d wait, %d run", m.Waiting(), m.Running())
		}
	}
}

// TestJoinerLosesItsGang between Submit and Schedule.
func TestJoinerLosesItsGang(t *testing.T) {
	m := twoNodes(t)
	_ = m.Submit(Request{ID: 1, Tasks: 8})
	pass(t, m, 0)
	if err := m.Submit(Request{ID: 2, Tasks: 12, With: 1}); err != nil {
		t.Fatal(err)
	}
	m.Remove(1)
	d := pass(t, m, 1)
	if len(d.Start) != 1 || d.Start[0].Gang != 2 || len(d.Start[0].Places) != 2 {
		t.Fatalf("%+v", d)
	}
}

// TestJoinersWait: two joiners fit by themselves, but not both; the second waits for the first.
func TestJoinersWait(t *testing.T) {
	m := twoNodes(t)
	_ = m.Submit(Request{ID: 1, Tasks: 1})
	pass(t, m, 0)
	for id := range JobID(2) {
		if err := m.Submit(Request{ID: id + 2, Tasks: 1, MemPerNode: 5, With: 1}); err != nil {
			t.Fatal(err)
		}
	}
	if d := pass(t, m, 1); len(d.Start) != 1 || d.Start[0].Job != 2 || d.Start[0].Gang != 1 {
		t.Fatalf("%+v", d)
	}
	if e, _ := m.Explain(3, 1); !slices.Equal(e.Reasons, []Reason{ForGang}) {
		t.Fatalf("%+v", e)
	}
	m.Remove(2)
	if d := pass(t, m, 2); len(d.Start) != 1 || d.Start[0].Job != 3 {
		t.Fatalf("%+v", d)
	}
}

func TestReasons(t *testing.T) {
	m := newMachine(t, Config{MaxRows: 1}, Node{ID: "a", CPUs: 2, Memory: 8}, Node{ID: "b", CPUs: 2, Memory: 8})
	_ = m.Submit(Request{ID: 1, Tasks: 2, MemPerNode: 6, NodeList: []NodeID{"a"}})
	_ = m.Submit(Request{ID: 2, Tasks: 1, NodeList: []NodeID{"b"}})
	pass(t, m, 0)
	for i, c := range []struct {
		req  Request
		want []Reason
	}{
		{Request{Tasks: 4}, []Reason{ForRows}},
		{Request{Tasks: 1, Exclusive: true, Nodes: 1, NodeList: []NodeID{"b"}}, []Reason{ForExclusive}},
		{Request{Tasks: 1, MemPerNode: 5, NodeList: []NodeID{"a"}}, []Reason{ForMemory, ForRows}},
		{Request{Tasks: 2, Exclusive: true, NodeList: []NodeID{"b"}}, []Reason{ForExclusive, ForRows}},
		{Request{Tasks: 3, Nodes: 2, MemPerNode: 5, Exclusive: true}, []Reason{ForMemory, ForExclusive, ForRows}},
	} {
		id := JobID(10 + i)
		c.req.ID = id
		if err := m.Submit(c.req); err != nil {
			t.Fatal(err)
		}
		if e, _ := m.Explain(id, 0); !slices.Equal(e.Reasons, []Reason{ForPass}) {
			t.Errorf("%+v before the pass: %v", c.req, e.Reasons)
		}
		pass(t, m, 1)
		e, _ := m.Explain(id, 0)
		if !slices.Equal(e.Reasons, c.want) {
			t.Errorf("%+v waits for %v, want %v", c.req, e.Reasons, c.want)
		}
	}
	for r := ForNodes; r <= ForPass; r++ {
		if r.String() == "" || r.String() == Reason(99).String() {
			t.Errorf("reason %d has no text", int(r))
		}
	}
}

// TestMatrixIsACopy: what is shown may be changed by the one who shows it.
func TestMatrixIsACopy(t *testing.T) {
	m := waitBehind(t)
	s := m.Matrix()
	want := m.Matrix()
	s.Rows[0].CPUs[0][0].Job = 99
	s.Nodes[0].FreeMemory = 0
	if got := m.Matrix(); !reflect.DeepEqual(got, want) || got.Waiting != 1 || got.Nodes[1].FreeMemory != 2 || got.Nodes[1].Gangs != 1 {
		t.Fatalf("%+v", got)
	}
	if empty := New(Config{}).Matrix().String(); empty != "row  slice\n" {
		t.Fatalf("%q", empty)
	}
}

// A job that had places waits for nodes to come back where a new one is refused.
func TestAgainWaitsForNodes(t *testing.T) {
	m := New(Config{})
	if err := m.AddNode(Node{ID: "n1", CPUs: 2}); err != nil {
		t.Fatal(err)
	}
	big := Request{ID: 1, Tasks: 4, Nodes: 2, NodeList: []NodeID{"n1", "n2"}}
	if err := m.Submit(big); err == nil {
		t.Fatal("a job is taken that the cluster cannot hold")
	}
	big.Again = true
	if err := m.Submit(big); err != nil {
		t.Fatal(err)
	}
	if d := m.Schedule(1); len(d.Start) != 0 {
		t.Fatalf("started %v on one node", d.Start)
	}
	if e, ok := m.Explain(1, 1); !ok || !slices.Equal(e.Reasons, []Reason{ForNodes}) {
		t.Errorf("%+v", e)
	}
	if err := m.AddNode(Node{ID: "n2", CPUs: 2}); err != nil {
		t.Fatal(err)
	}
	if d := m.Schedule(2); len(d.Start) != 1 {
		t.Errorf("not started: %+v", d)
	}
}
