package pmi

import (
	"slices"
	"testing"
)

func survivors(t *testing.T, nodes ...int32) *Engine {
	t.Helper()
	return initialized(t, JobInfo{Job: 7, KVSName: "kvs", RankNode: nodes, Survive: true})
}

// released are the ranks that leave a fence; failed says that all of them hear that there was none.
func released(e *Engine) (ranks []int, failed bool) {
	for _, event := range e.Events() {
		if event.Kind == EventReleased {
			ranks, failed = append(ranks, event.Rank), event.Outcome == Missing
		}
	}
	return ranks, failed
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func expectReleased(t *testing.T, e *Engine, want ...int) {
	t.Helper()
	if got, failed := released(e); failed || !slices.Equal(got, want) {
		t.Fatalf("released %v (failed %v), want %v", got, failed, want)
	}
}

// A fence waits for a rank that has gone until it is known what becomes of it, and goes on without
// one that is lost.
func TestFenceWithoutTheLost(t *testing.T) {
	e := survivors(t, 0, 0, 0)
	must(t, e.FenceIn(0, 0))
	if phase, err := e.OnDisconnected(1); phase != PhaseActive || err != nil {
		t.Fatalf("%v, %v", phase, err)
	}
	must(t, e.FenceIn(2, 0))
	expectReleased(t, e)
	must(t, e.Lost(1, 0))
	expectReleased(t, e, 0, 2)
	must(t, e.Lost(1, 0)) // told twice
	if text, ok := e.JobAttr([]byte(DeadKey)); !ok || text != "1" {
		t.Errorf("dead: %q, %v", text, ok)
	}
	must(t, e.FenceIn(2, 0))
	expectReleased(t, e)
	must(t, e.FenceIn(0, 0))
	expectReleased(t, e, 0, 2)
}

// What a rank had put without a fence is gone with it; what a fence took along stays until its next
// process puts more.
func TestRestartedRankStore(t *testing.T) {
	e := survivors(t, 0, 0)
	put := func(rank int, key, value string) { must(t, e.Put(rank, []byte(key), []byte(value))) }
	both := func() {
		t.Helper()
		must(t, e.FenceIn(0, 0))
		must(t, e.FenceIn(1, 0))
		expectReleased(t, e, 0, 1)
	}
	get := func(key, want string) {
		t.Helper()
		if value, ok := e.Get(0, AnyRank, []byte(key)); value != want || ok != (want != "") {
			t.Fatalf("%s: %q, %v, want %q", key, value, ok, want)
		}
	}
	put(1, "card", "first")
	both()
	put(1, "card", "lost")
	put(1, "other", "lost")
	must(t, e.FenceIn(1, 0))
	e.OnDisconnected(1)
	e.OnRespawned(1, 1)
	if e.Phase(1) != PhaseSilent || e.failures.incarnation[1] != 1 {
		t.Errorf("%v, %d", e.Phase(1), e.failures.incarnation[1])
	}
	must(t, e.Init(1))
	must(t, e.FenceIn(0, 0))
	expectReleased(t, e)
	get("card", "first")
	put(1, "card", "second")
	must(t, e.FenceIn(1, 0))
	expectReleased(t, e, 0, 1)
	get("card", "second")
	get("other", "")
	e.OnRespawned(1, 1) // told again
	if e.Phase(1) != PhaseActive {
		t.Error("started again twice")
	}
	if text, ok := e.JobAttr([]byte(IncarnationsKey)); !ok || text != "1:1" {
		t.Errorf("%q, %v", text, ok)
	}
}

// An answer that a dead process waited for does not reach the next one.
func TestAnswersOfTheDead(t *testing.T) {
	e := survivors(t, 0, 0)
	if _, _, held, err := e.NodeAttr(1, 5, []byte("later"), true); !held || err != nil {
		t.Fatal(held, err)
	}
	must(t, e.Name(1, 6, NameLookup, []byte("service"), nil))
	id := e.Events()[0].Name.ID
	must(t, e.GroupIn(1, 7, GroupFence, []Proc{{7, 0}, {7, 1}}))
	e.OnDisconnected(1)
	e.OnRespawned(1, 1)
	must(t, e.Init(1))
	e.Events()
	must(t, e.PutNodeAttr(0, []byte("later"), []byte("x")))
	e.NameResult(id, true, "port")
	must(t, e.GroupIn(0, 8, GroupFence, []Proc{{7, 0}, {7, 1}}))
	if events := e.Events(); len(events) != 0 {
		t.Errorf("%+v", events)
	}
	must(t, e.GroupIn(1, 9, GroupFence, []Proc{{7, 0}, {7, 1}}))
	if events := e.Events(); len(events) != 2 || !events[0].OK {
		t.Errorf("%+v", events)
	}
}

// If a process dies after its node has sent its part of a fence, the fence goes on. The process
// that replaces it takes part from the next fence on.
func TestRestartDuringExchange(t *testing.T) {
	e := survivors(t, 0, 0, 1)
	must(t, e.Put(1, []byte("card"), []byte("x")))
	must(t, e.FenceIn(0, 0))
	must(t, e.FenceIn(1, 0))
	ready := e.Events()[0]
	e.OnDisconnected(1)
	e.OnRespawned(1, 1)
	must(t, e.Init(1))
	other, err := NewEngine(JobInfo{Job: 7, KVSName: "kvs", RankNode: []int32{0, 0, 1}, NodeIndex: 1, Survive: true})
	must(t, err)
	must(t, other.Init(2))
	must(t, other.FenceIn(2, 0))
	var theirs Event
	for _, event := range other.Events() {
		if event.Kind == EventFenceReady {
			theirs = event
		}
	}
	must(t, e.FenceDone(ready.Seq, append(slices.Clone(ready.Data), theirs.Data...)))
	e.Events()
	if value, ok := e.Get(0, AnyRank, []byte("card")); !ok || value != "x" {
		t.Errorf("%q, %v", value, ok)
	}
	must(t, e.FenceIn(0, 0))
	must(t, e.FenceIn(1, 0))
	if events := e.Events(); len(events) != 1 || events[0].Kind != EventFenceReady || events[0].Seq != 2 {
		t.Errorf("%+v", events)
	}
}

// Where no rank of a node is left there are no fences of all.
func TestFencesEnd(t *testing.T) {
	e := survivors(t, 0, 0, 1, 1)
	must(t, e.FenceIn(0, 0))
	must(t, e.Lost(2, 0))
	expectReleased(t, e)
	must(t, e.Lost(3, 0))
	if ranks, failed := released(e); !failed || !slices.Equal(ranks, []int{0}) {
		t.Fatalf("%v, failed %v", ranks, failed)
	}
	must(t, e.FenceIn(1, 0))
	if ranks, failed := released(e); !failed || !slices.Equal(ranks, []int{1}) {
		t.Fatalf("%v, failed %v", ranks, failed)
	}
	must(t, e.FenceDone(1, nil)) // late
	must(t, e.Finalize(0))
}

// A fence to which a node has given its part before its last rank died may be complete yet: some
// ranks have left it. It is the last one.
func TestTheLastFence(t *testing.T) {
	nodes := []int32{0, 0, 1}
	e := survivors(t, nodes...)
	other, err := NewEngine(JobInfo{Job: 7, KVSName: "kvs", RankNode: nodes, NodeIndex: 1, Survive: true})
	must(t, err)
	must(t, other.Init(2))
	must(t, other.FenceIn(2, 0))
	theirs := other.Events()
	if n := other.FencesGiven(); n != 1 {
		t.Fatalf("%d fences", n)
	}
	must(t, other.Lost(2, other.FencesGiven()))
	must(t, e.FenceIn(0, 0))
	must(t, e.Lost(2, other.FencesGiven()))
	expectReleased(t, e)
	must(t, e.FenceIn(1, 0))
	mine := e.Events()[0]
	must(t, e.FenceDone(1, append(slices.Clone(mine.Data), theirs[len(theirs)-1].Data...)))
	expectReleased(t, e, 0, 1)
	must(t, e.FenceIn(0, 0))
	if ranks, failed := released(e); !failed || !slices.Equal(ranks, []int{0}) {
		t.Fatalf("%v, failed %v", ranks, failed)
	}
}

func TestAskRespawn(t *testing.T) {
	e, err := NewEngine(JobInfo{Job: 7, KVSName: "kvs", RankNode: []int32{0, 0}})
	must(t, err)
	must(t, e.Init(0))
	must(t, e.Init(1))
	e.Events()
	for _, bad := range []string{"-1", "1001", "", "many"} {
		if e.PutNodeAttr(0, []byte(RespawnKey), []byte(bad)) == nil {
			t.Errorf("%q is taken", bad)
		}
	}
	must(t, e.PutNodeAttr(0, []byte(RespawnKey), []byte("3")))
	if events := e.Events(); len(events) != 1 || events[0].Kind != EventRespawn || events[0].Code != 3 {
		t.Errorf("%+v", events)
	}
	if !e.Survives(0) || e.Survives(1) {
		t.Error("only who asks is started again")
	}
	if _, ok, _, _ := e.NodeAttr(1, 0, []byte(RespawnKey), false); ok {
		t.Error("it is an attribute of the node")
	}
}

func TestListsOfFailures(t *testing.T) {
	nodes := make([]int32, 5000)
	for i := range nodes {
		nodes[i] = int32(i & 1)
	}
	e := survivors(t, nodes...)
	for rank := 1; rank < len(nodes); rank += 2 {
		must(t, e.Lost(rank, AllFences))
	}
	e.Events()
	if text, ok := e.JobAttr([]byte(DeadKey)); !ok || len(text) > MaxValue || text[len(text)-1] == ',' {
		t.Errorf("%d bytes, %v", len(text), ok)
	}
	e.OnRespawned(-1, 1)
	e.OnRespawned(len(nodes), 1)
	must(t, e.Lost(len(nodes), 0))
}
