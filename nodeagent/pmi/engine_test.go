package pmi

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// newEngines returns the engines of all nodes of a job.
func newEngines(t testing.TB, rankNode []int32) []*Engine {
	t.Helper()
	var engines []*Engine
	for node := 0; ; node++ {
		e := initialized(t, JobInfo{Job: 7, KVSName: "kvs", RankNode: rankNode, NodeIndex: node})
		engines = append(engines, e)
		if node == e.nodes-1 {
			return engines
		}
	}
}

// initialized is the engine of a node whose ranks have begun to speak.
func initialized(t testing.TB, info JobInfo) *Engine {
	t.Helper()
	e, err := NewEngine(info)
	if err != nil {
		t.Fatal(err)
	}
	for _, rank := range e.LocalRanks() {
		if err := e.Init(rank); err != nil {
			t.Fatal(err)
		}
	}
	e.Events()
	return e
}

// kinds lists the kinds of the events that wait.
func kinds(e *Engine) []EventKind {
	var list []EventKind
	for _, event := range e.Events() {
		list = append(list, event.Kind)
	}
	return list
}

func TestPhases(t *testing.T) {
	e, err := NewEngine(JobInfo{KVSName: "kvs", RankNode: []int32{0}})
	if err != nil {
		t.Fatal(err)
	}
	steps := []struct {
		name string
		do   func() error
		want Phase
		err  error
		told int
	}{
		{"request", func() error { return e.Active(0, []byte("get")) }, PhaseSilent, ErrOrder, 0},
		{"finalize", func() error { return e.Finalize(0) }, PhaseSilent, ErrOrder, 0},
		{"contact", func() error { e.Contact(0); return nil }, PhaseContacted, nil, 1},
		{"again", func() error { e.Contact(0); return nil }, PhaseContacted, nil, 0},
		{"init", func() error { return e.Init(0) }, PhaseActive, nil, 0},
		{"init again", func() error { return e.Init(0) }, PhaseActive, ErrOrder, 0},
		{"request", func() error { return e.Active(0, []byte("get")) }, PhaseActive, nil, 0},
		{"finalize", func() error { return e.Finalize(0) }, PhaseFinalized, nil, 1},
		{"finalize again", func() error { return e.Finalize(0) }, PhaseFinalized, ErrOrder, 0},
		{"init again", func() error { return e.Init(0) }, PhaseFinalized, ErrOrder, 0},
	}
	for _, step := range steps {
		if err := step.do(); !errors.Is(err, step.err) {
			t.Errorf("%s: got %v, want %v", step.name, err, step.err)
		}
		if e.Phase(0) != step.want || len(e.Events()) != step.told {
			t.Errorf("%s: phase %d, want %d", step.name, e.Phase(0), step.want)
		}
	}
	if phase, err := e.OnDisconnected(0); phase != PhaseFinalized || err != nil {
		t.Errorf("gone in phase %d, %v", phase, err)
	}
}

// What is stored is bounded per rank, and putting a key again is no growth.
func TestRankStoreIsBounded(t *testing.T) {
	e := newEngines(t, []int32{0})[0]
	value := bytes.Repeat([]byte{'v'}, MaxValue)
	for range MaxRankBytes/MaxValue + 10 {
		if err := e.Put(0, []byte("same"), value); err != nil {
			t.Fatal(err)
		}
	}
	var err error
	keys := 0
	for ; err == nil && keys <= MaxRankKeys; keys++ {
		err = e.Put(0, fmt.Appendf(nil, "key%d", keys), value)
	}
	if !errors.Is(err, ErrFull) || keys < MaxRankBytes/MaxValue/2 {
		t.Errorf("after %d keys: %v, want %v", keys, err, ErrFull)
	}
	e = newEngines(t, []int32{0})[0]
	for err, keys = nil, 0; err == nil; keys++ {
		err = e.Put(0, fmt.Appendf(nil, "key%d", keys), nil)
	}
	if !errors.Is(err, ErrFull) || keys != MaxRankKeys+1 {
		t.Errorf("after %d empty keys: %v, want %v", keys, err, ErrFull)
	}
}

func TestNodeAttrsAreBounded(t *testing.T) {
	e := newEngines(t, []int32{0})[0]
	var err error
	for i := 0; err == nil && i <= MaxRankKeys; i++ {
		err = e.PutNodeAttr(0, fmt.Appendf(nil, "key%d", i), []byte("v"))
	}
	if !errors.Is(err, ErrFull) {
		t.Errorf("got %v, want %v", err, ErrFull)
	}
	if _, _, _, err := e.NodeAttr(0, 0, []byte(strings.Repeat("k", MaxKey+1)), true); !errors.Is(err, ErrTooLong) {
		t.Errorf("a wait for a long key: %v", err)
	}
}

// The list of local ranks is told while it fits a value.
func TestLocalRanks(t *testing.T) {
	for n, want := range map[int]bool{1: true, 256: true, 4096: false} {
		e := newEngines(t, make([]int32, n))[0]
		text, ok, held, err := e.NodeAttr(0, 0, []byte("localRanks"), true)
		if err != nil || held || ok != want || len(text) > MaxValue {
			t.Errorf("%d ranks: %d bytes, %v, held %v, %v", n, len(text), ok, held, err)
		}
		if n == 1 && text != "0" {
			t.Errorf("one rank: %q", text)
		}
	}
}

func TestNameAndSpawnChecks(t *testing.T) {
	e := newEngines(t, []int32{0})[0]
	long := bytes.Repeat([]byte{'x'}, MaxValue+1)
	for name, err := range map[string]error{
		"no service":   e.Name(0, 1, NamePublish, nil, nil),
		"no command":   e.Spawn(0, 1, &SpawnRequest{}),
		"no processes": e.Spawn(0, 1, &SpawnRequest{Apps: []SpawnApp{{Command: "a"}}}),
		"zero byte":    e.Spawn(0, 1, &SpawnRequest{Apps: []SpawnApp{{Command: "a", MaxProcs: 1, Args: []string{"b\x00c"}}}}),
		"no name":      e.Spawn(0, 1, &SpawnRequest{Apps: []SpawnApp{{MaxProcs: 1}}}),
	} {
		if !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: got %v, want %v", name, err, ErrMalformed)
		}
	}
	preput := map[string]string{"k": string(long)}
	for name, err := range map[string]error{
		"long service":   e.Name(0, 1, NamePublish, long, nil),
		"long port":      e.Name(0, 1, NamePublish, []byte("s"), long),
		"long given key": e.Spawn(0, 1, &SpawnRequest{Apps: []SpawnApp{{Command: "a", MaxProcs: 1}}, Preput: preput}),
		"long spawn": e.Spawn(0, 1, &SpawnRequest{Apps: []SpawnApp{
			{Command: "a", MaxProcs: 1, Env: []string{"A=" + strings.Repeat("x", MaxSpawnBytes)}},
		}}),
		"long value": e.Put(0, []byte("k"), long),
		"long ring":  e.RingIn(0, 1, Ring{Left: string(long)}),
	} {
		if !errors.Is(err, ErrTooLong) {
			t.Errorf("%s: got %v, want %v", name, err, ErrTooLong)
		}
	}
	if events := e.Events(); len(events) != 0 {
		t.Errorf("a refused request made %v", events)
	}
}

// Texts of programs are passed on byte by byte.
func TestTextsThatAreNotUTF8(t *testing.T) {
	e := newEngines(t, []int32{0})[0]
	request := &SpawnRequest{
		Apps:   []SpawnApp{{Command: "a\xff", MaxProcs: 1, Args: []string{"b\xfe"}, Env: []string{"A\xfd=\xfc"}, Info: []KV{{Key: "wdir", Value: "/\x80"}}}},
		Preput: map[string]string{"k\xff": "v\xff"},
	}
	want := *request
	for what, err := range map[string]error{
		"name": e.Name(0, 1, NamePublish, []byte("s\xff"), []byte("p\xfe")), "option": e.AskName(0, 2, NameOp{Kind: NameLookup, Service: "s\xff"}),
		"spawn": e.Spawn(0, 3, request),
	} {
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	for _, event := range e.Events() {
		switch {
		case event.Kind == EventSpawn:
			want.ID = event.Spawn.ID
			if diff := cmp.Diff(&want, event.Spawn); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		case event.Name.Service != "s\xff" || event.Name.Kind == NamePublish && event.Name.Port != "p\xfe":
			t.Errorf("%+v", event.Name)
		}
	}
}

// An answer of the wrong sort, or a port that is too long, must not be passed
// on as what it is not.
func TestAnswers(t *testing.T) {
	e := newEngines(t, []int32{0})[0]
	if err := e.Name(0, 1, NameLookup, []byte("s"), nil); err != nil {
		t.Fatal(err)
	}
	e.Events()
	e.SpawnResult(1, SpawnResult{})
	if events := e.Events(); len(events) != 0 {
		t.Errorf("a spawn's answer to a lookup made %v", events)
	}
	if err := e.Name(0, 2, NameLookup, []byte("s"), nil); err != nil {
		t.Fatal(err)
	}
	e.Events()
	e.NameResult(2, true, strings.Repeat("p", MaxValue+1))
	if events := e.Events(); len(events) != 1 || events[0].OK || events[0].Tag != 2 {
		t.Errorf("a port that is too long made %+v", events)
	}
}

// One ring of one rank has itself as both neighbours.
func TestRingOfOne(t *testing.T) {
	e := newEngines(t, []int32{0})[0]
	if err := e.RingIn(0, 3, Ring{Count: 5, Left: "l", Right: "r"}); err != nil {
		t.Fatal(err)
	}
	events := e.Events()
	if len(events) != 1 || events[0].Ring != (Ring{Count: 0, Left: "r", Right: "l"}) || events[0].Tag != 3 {
		t.Errorf("got %+v", events)
	}
}
