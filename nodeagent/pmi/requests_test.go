package pmi

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

func TestJobAttrs(t *testing.T) {
	e, err := NewEngine(JobInfo{KVSName: "kvs", RankNode: []int32{0, 0, 1}, UniverseSize: 12, Hardware: "/run/hardware.xml"})
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{
		"PMI_process_mapping": "(vector,(0,1,2),(1,1,1))", "universeSize": "12", "hasNameServ": "yes",
		"PMI_hwloc_xmlfile": "/run/hardware.xml",
	} {
		if got, ok := e.JobAttr([]byte(key)); !ok || got != want {
			t.Errorf("%s: got %q, %v, want %q", key, got, ok, want)
		}
	}
	if _, ok := e.JobAttr([]byte("mpi_reserved_ports")); ok {
		t.Error("an attribute that nobody set is there")
	}
}

// A placement that does not fit a value is not told at all: an empty value
// makes MPICH fail, a missing one only makes it slower.
func TestMappingThatDoesNotFit(t *testing.T) {
	nodes := make([]int32, 2000)
	for rank := range nodes {
		nodes[rank] = int32(rank * rank % 7)
	}
	used := slices.Compact(slices.Sorted(slices.Values(nodes)))
	for rank, node := range nodes {
		at, _ := slices.BinarySearch(used, node)
		nodes[rank] = int32(at)
	}
	if len(used) < 2 {
		t.Fatal("the placement is too regular for this test")
	}
	// A pattern of period 7 compresses; one rank out of line breaks it at the end.
	nodes[len(nodes)-1] = (nodes[len(nodes)-1] + 1) % int32(len(used))
	e, err := NewEngine(JobInfo{KVSName: "kvs", RankNode: nodes})
	if err != nil {
		t.Fatal(err)
	}
	if value, ok := e.JobAttr([]byte(mappingKey)); ok {
		t.Errorf("the job attribute has %d bytes", len(value))
	}
	if value, ok := e.Get(0, AnyRank, []byte(mappingKey)); ok {
		t.Errorf("the key has %d bytes", len(value))
	}
}

func TestAbortCodes(t *testing.T) {
	e := newEngines(t, []int32{0})[0]
	for code, want := range map[int]int{0: 1, 1: 1, 7: 7, 255: 255, 256: 1, 257: 1, -1: 255, 1 << 30: 1} {
		e.Abort(0, code, "why")
		events := e.Events()
		if len(events) != 1 || events[0].Code != want || events[0].Value != "why" {
			t.Errorf("code %d: got %+v, want %d", code, events, want)
		}
	}
}

// A wait ends with the first put, for all who wait, and only on this node.
func TestNodeAttrWait(t *testing.T) {
	e := newEngines(t, []int32{0, 0, 0})[0]
	for rank := range 2 {
		if _, ok, held, err := e.NodeAttr(rank, Tag(10+rank), []byte("k"), true); ok || !held || err != nil {
			t.Fatalf("rank %d: found %v, held %v, %v", rank, ok, held, err)
		}
	}
	if _, ok, held, err := e.NodeAttr(2, 1, []byte("k"), false); ok || held || err != nil {
		t.Errorf("without waiting: found %v, held %v, %v", ok, held, err)
	}
	if err := e.PutNodeAttr(2, []byte("other"), []byte("x")); err != nil || len(e.Events()) != 0 {
		t.Errorf("another key woke someone, %v", err)
	}
	if err := e.PutNodeAttr(2, []byte("k"), []byte("first")); err != nil {
		t.Fatal(err)
	}
	for i, event := range e.Events() {
		if event.Kind != EventAttr || event.Rank != i || event.Tag != Tag(10+i) || event.Value != "first" {
			t.Errorf("answer %d: %+v", i, event)
		}
	}
	if err := e.PutNodeAttr(0, []byte("k"), []byte("second")); err != nil || len(e.Events()) != 0 {
		t.Errorf("a second put answered again, %v", err)
	}
	if value, ok, _, _ := e.NodeAttr(1, 1, []byte("k"), true); !ok || value != "second" {
		t.Errorf("got %q, %v", value, ok)
	}
	if err := e.PutNodeAttr(0, nil, nil); !errors.Is(err, ErrMalformed) {
		t.Errorf("an empty key: %v", err)
	}
}

func TestNameAndSpawnAnswers(t *testing.T) {
	e := newEngines(t, []int32{0, 0})[0]
	if err := e.Name(1, 5, NamePublish, []byte("s"), []byte("p")); err != nil {
		t.Fatal(err)
	}
	events := e.Events()
	if len(events) != 1 || events[0].Name != (NameOp{ID: 1, Kind: NamePublish, Service: "s", Port: "p"}) || events[0].Rank != 1 {
		t.Fatalf("got %+v", events)
	}
	request := &SpawnRequest{Apps: []SpawnApp{{Command: "a", MaxProcs: 1}}, Preput: map[string]string{"k": "v"}}
	if err := e.Spawn(0, 6, request); err != nil {
		t.Fatal(err)
	}
	events = e.Events()
	if len(events) != 1 || events[0].Spawn.ID != 2 || events[0].Spawn.Preput["k"] != "v" {
		t.Fatalf("got %+v", events)
	}
	// Answers come in any order.
	e.SpawnResult(2, SpawnResult{KVSName: "child"})
	e.NameResult(1, true, "")
	events = slices.Clone(e.Events())
	if len(events) != 2 || events[0].Kind != EventSpawnAnswer || events[0].Tag != 6 || events[0].Result.KVSName != "child" {
		t.Errorf("got %+v", events)
	}
	if events[1].Kind != EventNameAnswer || events[1].Tag != 5 || events[1].Rank != 1 || !events[1].OK {
		t.Errorf("got %+v", events)
	}
	e.NameResult(1, true, "")
	e.SpawnResult(2, SpawnResult{})
	if events := e.Events(); len(events) != 0 {
		t.Errorf("answered twice: %+v", events)
	}
}

// Requests that wait outside count with those that wait here.
func TestAskedRequestsAreBounded(t *testing.T) {
	e := newEngines(t, []int32{0})[0]
	for range MaxHeld {
		if err := e.Name(0, 1, NameLookup, []byte("s"), nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := e.Spawn(0, 1, &SpawnRequest{Apps: []SpawnApp{{Command: "a", MaxProcs: 1}}}); !errors.Is(err, ErrFull) {
		t.Errorf("got %v, want %v", err, ErrFull)
	}
	e.NameResult(7, false, "")
	if err := e.Name(0, 1, NameLookup, []byte("s"), nil); err != nil {
		t.Errorf("after an answer: %v", err)
	}
}

// What the ranks of a node ask the leader is bounded together, by number and by bytes.
func TestAskedRequestsOfANodeAreBounded(t *testing.T) {
	last := MaxAsked / MaxHeld
	e := newEngines(t, make([]int32, last+1))[0] // all on one node
	for i := range MaxAsked {
		if err := e.Name(i/MaxHeld, 1, NameLookup, []byte("s"), nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := e.Name(last, 1, NameLookup, []byte("s"), nil); !errors.Is(err, ErrFull) {
		t.Errorf("one more: %v, want %v", err, ErrFull)
	}
	for id := range uint64(MaxAsked) {
		e.NameResult(id+1, false, "")
	}
	long := &SpawnRequest{Apps: []SpawnApp{{Command: strings.Repeat("a", MaxSpawnBytes-1), MaxProcs: 1}}}
	for range MaxAskedBytes / MaxSpawnBytes {
		if err := e.Spawn(last, 1, long); err != nil {
			t.Fatal(err)
		}
	}
	if err := e.Name(0, 1, NameLookup, []byte("s"), nil); !errors.Is(err, ErrFull) {
		t.Errorf("one byte more: %v, want %v", err, ErrFull)
	}
	e.SpawnResult(e.lastID, SpawnResult{})
	if err := e.Name(0, 1, NameLookup, []byte("s"), nil); err != nil {
		t.Errorf("after an answer: %v", err)
	}
}

func TestFenceRules(t *testing.T) {
	t.Run("twice", func(t *testing.T) {
		e := newEngines(t, []int32{0, 0})[0]
		if err := e.FenceIn(0, 1); err != nil {
			t.Fatal(err)
		}
		if err := e.FenceIn(0, 2); !errors.Is(err, ErrOrder) {
			t.Errorf("got %v", err)
		}
		if err := e.Finalize(0); !errors.Is(err, ErrOrder) {
			t.Errorf("finalize inside: %v", err)
		}
	})
	t.Run("mixed", func(t *testing.T) {
		e := newEngines(t, []int32{0, 0})[0]
		if err := e.RingIn(0, 1, Ring{}); err != nil {
			t.Fatal(err)
		}
		if err := e.FenceIn(1, 1); !errors.Is(err, ErrOrder) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("mixed over nodes", func(t *testing.T) {
		engines := newEngines(t, []int32{0, 1})
		if err := engines[0].RingIn(0, 1, Ring{}); err != nil {
			t.Fatal(err)
		}
		if err := engines[1].FenceIn(1, 1); err != nil {
			t.Fatal(err)
		}
		all := slices.Concat(engines[0].Events()[0].Data, engines[1].Events()[0].Data)
		for _, e := range engines {
			if err := e.FenceDone(1, all); !errors.Is(err, ErrExchange) {
				t.Errorf("got %v", err)
			}
		}
	})
	t.Run("gone and departed", func(t *testing.T) {
		e := newEngines(t, []int32{0, 0, 0})[0]
		if err := e.FenceIn(0, 1); err != nil {
			t.Fatal(err)
		}
		if phase, err := e.OnDisconnected(1); phase != PhaseActive || !errors.Is(err, ErrOrder) {
			t.Errorf("phase %d, %v", phase, err)
		}
		if err := e.FenceIn(2, 1); err != nil || len(e.Events()) != 0 {
			t.Errorf("a fence without rank 1, which has failed, does not wait: %v", err)
		}
		if err := e.Init(1); !errors.Is(err, ErrOrder) {
			t.Errorf("init of a rank that has gone: %v", err)
		}
		if err := e.Active(1, []byte("get")); !errors.Is(err, ErrOrder) {
			t.Errorf("request of a rank that has gone: %v", err)
		}
	})
	t.Run("gone during an exchange", func(t *testing.T) {
		engines := newEngines(t, []int32{0, 1})
		if err := engines[0].FenceIn(0, 1); err != nil {
			t.Fatal(err)
		}
		// The phase says that the rank has failed; that is enough.
		if phase, err := engines[0].OnDisconnected(0); phase != PhaseActive || err != nil {
			t.Errorf("phase %d, %v", phase, err)
		}
	})
	t.Run("too much", func(t *testing.T) {
		engines := newEngines(t, []int32{0, 1})
		if err := engines[0].FenceIn(0, 1); err != nil {
			t.Fatal(err)
		}
		if err := engines[0].FenceDone(1, make([]byte, MaxJobBytes+1)); !errors.Is(err, ErrFull) {
			t.Errorf("got %v, want %v", err, ErrFull)
		}
	})
}

func TestKindsHaveNames(t *testing.T) {
	for kind, want := range map[blockKind]string{kindFence: "a fence", kindRing: "a ring", 9: "collective 9"} {
		if kind.String() != want {
			t.Errorf("got %q, want %q", kind, want)
		}
	}
}
