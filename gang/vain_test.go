package gang

import (
	"strings"
	"testing"
)

// crowded is a cluster whose rows have free CPUs and no free channels: a search for a job that
// needs a channel examines each node in each row.
func crowded(t *testing.T, nodes int) (m *Machine, next JobID) {
	t.Helper()
	const channels = 8
	all := manyNodes(nodes)
	for i := range all {
		all[i].Channels = channels
	}
	m = newMachine(t, Config{}, all...)
	for range nodes * m.cfg.MaxRows {
		next++
		submit(t, m, Request{ID: next, Tasks: channels, Nodes: 1, Channels: 1, Owner: 1})
	}
	m.Schedule(0)
	if m.Waiting() > 0 {
		t.Fatalf("%d jobs wait", m.Waiting())
	}
	return m, next
}

func submit(t *testing.T, m *Machine, r Request) {
	t.Helper()
	if err := m.Submit(r); err != nil {
		t.Fatal(err)
	}
}

// However many different jobs of one owner wait, a pass takes a bounded time, and others' jobs
// start. What it did not come to says so, and starts when those before it are gone.
func TestSearchesForOneOwnerAreBounded(t *testing.T) {
	const nodes, crowd = 500, 5000
	m, id := crowded(t, nodes)
	search := nodes * (1 + m.cfg.MaxRows)
	first := id + 1
	for i := range crowd {
		id++
		submit(t, m, Request{ID: id, Tasks: 1, Channels: 1, MemPerNode: int64(i), Owner: 2, Submitted: 1})
	}
	last, other := id+1, id+2
	submit(t, m, Request{ID: last, Tasks: 1, MemPerNode: crowd, Owner: 2, Submitted: 2})
	submit(t, m, Request{ID: other, Tasks: 1, Owner: 3, Submitted: 3})
	before := m.finder.examined
	m.Schedule(4)
	if cost := m.finder.examined - before; cost < maxVain || cost > maxVain+20*search {
		t.Errorf("%d nodes were examined", cost)
	}
	if _, ok := m.Allocation(other); !ok {
		t.Error("another's job waits")
	}
	e, _ := m.Explain(last, 5)
	if _, ok := m.Allocation(last); ok || e.Reasons[0] != ForOwner || !strings.Contains(e.String(), "its user's other jobs: too many of them wait before it") {
		t.Errorf("the last of the crowd: %v", e)
	}
	for id := first; id < first+crowd*3/4; id++ {
		m.Remove(id)
	}
	m.Schedule(6)
	if _, ok := m.Allocation(last); !ok {
		e, _ := m.Explain(last, 7)
		t.Error("the last one waits: ", e)
	}
}

// Of many jobs that name the same nodes one is searched for, as of those that name none.
func TestJobsThatNameNodesAreSearchedOnce(t *testing.T) {
	const nodes, crowd = 100, 1000
	m, id := crowded(t, nodes)
	for range crowd {
		id++
		submit(t, m, Request{ID: id, Tasks: 1, Channels: 1, NodeList: []NodeID{"n7"}, Owner: 2, Submitted: 1})
	}
	m.Schedule(2)
	m.Remove(1)
	before := m.finder.examined
	m.Schedule(3)
	if cost, pass := m.finder.examined-before, 100*nodes; cost > pass {
		t.Errorf("%d nodes were examined", cost)
	}
}

// Lists explain many jobs at once. What a job waits for is said without writing down all nodes that
// it names.
func TestExplainingManyNamesIsCheap(t *testing.T) {
	const nodes = 200
	m, id := crowded(t, nodes)
	r := Request{ID: id + 1, Tasks: nodes, Channels: 1, Owner: 2, Submitted: 1}
	for _, n := range m.nodes {
		r.NodeList = append(r.NodeList, n.ID)
	}
	submit(t, m, r)
	m.Schedule(2)
	if e, _ := m.Explain(r.ID, 3); len(e.Reasons) != 1 || e.Reasons[0] != ForChannels {
		t.Error(e)
	}
	if n := testing.AllocsPerRun(10, func() { m.Explain(r.ID, 3) }); n > nodes*3/2 { // the fit that it looks for has one for each node
		t.Errorf("%v allocations", n)
	}
	if usable, _, _ := m.countNodes(m.jobs[r.ID]); usable != nodes {
		t.Errorf("it can use %d nodes", usable)
	}
	if err := m.SetDrain("n7", true); err != nil {
		t.Fatal(err)
	}
	if e, _ := m.Explain(r.ID, 3); e.Reasons[0] != ForNodes || !strings.Contains(e.Detail, "n199 n200; nodes that can be used: 199") {
		t.Error(e)
	}
}

// A job that names a node that is gone waits alone: those that ask for as much and name none start.
func TestAJobWithoutItsNodeHoldsUpNobody(t *testing.T) {
	m := newMachine(t, Config{MaxRows: 1}, Node{ID: "n1", CPUs: 1}, Node{ID: "n2", CPUs: 1})
	submit(t, m, Request{ID: 1, Tasks: 2})
	m.Schedule(0)
	submit(t, m, Request{ID: 2, Tasks: 1, NodeList: []NodeID{"n2"}, Owner: 1, Submitted: 1})
	submit(t, m, Request{ID: 3, Tasks: 1, Owner: 2, Submitted: 2})
	m.Schedule(2)
	if _, err := m.RemoveNode("n2"); err != nil {
		t.Fatal(err)
	}
	m.Remove(1)
	m.Schedule(3)
	if _, ok := m.Allocation(3); !ok {
		e, _ := m.Explain(3, 4)
		t.Error(e)
	}
	if e, _ := m.Explain(2, 4); e.Running || e.Reasons[0] != ForNodes {
		t.Error(e)
	}
}

// Jobs with long lists of excluded nodes, each another one, take a bounded time for each owner also
// when nodes have come or gone, and others' jobs start.
func TestExcludedNodesAreBoundedForEachOwner(t *testing.T) {
	const nodes, crowd = 500, 5000
	m, id := crowded(t, nodes)
	search := nodes * (1 + m.cfg.MaxRows)
	for i := range crowd {
		id++
		r := Request{ID: id, Tasks: 1, Channels: 1, Owner: 2, Submitted: 1}
		for k := range nodes - 1 {
			r.Exclude = append(r.Exclude, m.nodes[(i+k)%nodes].ID)
		}
		submit(t, m, r)
	}
	other := id + 1
	submit(t, m, Request{ID: other, Tasks: 1, Owner: 3, Submitted: 3})
	for now := range int64(2) {
		if err := m.SetDrain("n1", now == 0); err != nil {
			t.Fatal(err)
		}
		before := m.finder.examined
		m.Schedule(4 + now)
		if cost := m.finder.examined - before; cost > maxVain+20*(search+nodes*costOfName) {
			t.Errorf("%d nodes were examined", cost)
		}
	}
	if _, ok := m.Allocation(other); !ok {
		t.Error("another's job waits")
	}
}

// Lists that differ are different demands.
func TestNamesOfAreUnambiguous(t *testing.T) {
	seen := make(map[string]bool)
	for _, q := range []demand{
		{},
		{must: []int32{0}},
		{must: []int32{1}},
		{must: []int32{0, 1}},
		{must: []int32{0, 2, 0}},
		{not: []uint64{0, 1}},
		{not: []uint64{2}},
		{must: []int32{0}, not: []uint64{2}},
	} {
		names := namesOf(q.must, q.not)
		if seen[names] {
			t.Errorf("%v without %v is like another", q.must, q.not)
		}
		seen[names] = true
	}
}
