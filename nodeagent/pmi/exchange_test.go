package pmi

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// fenceAll brings all ranks of a job through a fence; shuffle may reorder the
// blocks, as a collective may.
func fenceAll(t testing.TB, engines []*Engine, shuffle func(blocks [][]byte)) {
	t.Helper()
	var blocks [][]byte
	for _, e := range engines {
		for _, rank := range e.LocalRanks() {
			if err := e.FenceIn(rank, 0); err != nil {
				t.Fatal(err)
			}
		}
		for _, event := range e.Events() {
			if event.Kind == EventFenceReady {
				blocks = append(blocks, event.Data)
			}
		}
	}
	for _, e := range engines {
		shuffle(blocks)
		if len(engines) == 1 {
			return
		}
		if err := e.FenceDone(e.fence.seq, slices.Concat(blocks...)); err != nil {
			t.Fatal(err)
		}
		for _, kind := range kinds(e) {
			if kind != EventReleased {
				t.Fatalf("a fence ended with event %d", kind)
			}
		}
	}
}

// All ranks see the same after each fence, whoever put what where and in
// whatever order the nodes' data comes; and nobody sees more before it.
func TestExchange(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		size := rapid.IntRange(1, 12).Draw(rt, "ranks")
		nodes := rapid.IntRange(1, size).Draw(rt, "nodes")
		rankNode := make([]int32, size)
		for rank := range rankNode {
			rankNode[rank] = int32(rank % nodes)
		}
		engines := newEngines(t, rankNode)
		// A few keys, so that ranks collide.
		key := rapid.SampledFrom([]string{"a", "P0-card", "P1-card", "-allgather-shm-1-0", strings.Repeat("k", MaxKey)})
		value := rapid.OneOf(
			rapid.StringMatching(`[0-9A-F]{0,40}`), rapid.StringN(0, 20, -1),
			rapid.SampledFrom([]string{"", "0", "0G", "ab", strings.Repeat("7F", MaxValue/2)}),
		)
		model := map[string]string{}
		sets := map[setKey]string{}
		for range rapid.IntRange(1, 3).Draw(rt, "fences") {
			staged := make([]map[string]string, size)
			for rank := range staged {
				staged[rank] = map[string]string{}
				for range rapid.IntRange(0, 4).Draw(rt, "puts") {
					k, v := key.Draw(rt, "key"), value.Draw(rt, "value")
					if err := engines[rankNode[rank]].Put(rank, []byte(k), []byte(v)); err != nil {
						rt.Fatal(err)
					}
					staged[rank][k] = v
				}
			}
			for rank := range size {
				checkView(rt, engines[rankNode[rank]], rank, model, staged[rank], sets)
			}
			fenceAll(t, engines, func(blocks [][]byte) {
				slices.SortFunc(blocks, func(a, b []byte) int { return rapid.IntRange(-1, 1).Draw(rt, "order") })
			})
			for rank := range size {
				for k, v := range staged[rank] {
					model[k] = v
					sets[setKey{rank: int32(rank), key: k}] = v
				}
			}
			for rank := range size {
				checkView(rt, engines[rankNode[rank]], rank, model, nil, sets)
			}
		}
	})
}

// checkView compares what a rank sees with the model and its own puts.
func checkView(rt *rapid.T, e *Engine, rank int, model, own map[string]string, sets map[setKey]string) {
	for _, k := range []string{"a", "P0-card", "P1-card", "-allgather-shm-1-0", strings.Repeat("k", MaxKey)} {
		want, has := model[k]
		if v, ok := own[k]; ok {
			want, has = v, true
		}
		got, ok := e.Get(rank, AnyRank, []byte(k))
		if got != want || ok != has {
			rt.Fatalf("rank %d sees %q=%q, %v, want %q, %v", rank, k, got, ok, want, has)
		}
		for source := range e.Size() {
			want, has := sets[setKey{rank: int32(source), key: k}]
			if _, mine := own[k]; !has || mine {
				continue
			}
			if got, ok := e.Get(rank, source, []byte(k)); got != want || !ok {
				rt.Fatalf("rank %d sees %q=%q, %v of rank %d, want %q", rank, k, got, ok, source, want)
			}
		}
	}
}

// A job of one node may not pay for an exchange.
func TestOneNodeExchangesNothing(t *testing.T) {
	e := newEngines(t, []int32{0, 0})[0]
	if err := e.Put(0, []byte("k"), []byte("v")); err != nil {
		t.Fatal(err)
	}
	fenceAll(t, []*Engine{e}, func([][]byte) {})
	if value, ok := e.Get(1, AnyRank, []byte("k")); !ok || value != "v" {
		t.Errorf("got %q, %v", value, ok)
	}
	if s := e.Stats(); s != (Stats{Fences: 1}) {
		t.Errorf("stats %+v", s)
	}
}

// block returns node 1's data for a fence of a job of two nodes with a rank
// each, and the engine of node 0 that waits for it with its own.
func twoNodes(t testing.TB) (waiting *Engine, own, others []byte) {
	engines := newEngines(t, []int32{0, 1})
	for rank, e := range engines {
		if err := e.Put(rank, fmt.Appendf(nil, "P%d-card", rank), []byte("00FF")); err != nil {
			t.Fatal(err)
		}
		if err := e.FenceIn(rank, 0); err != nil {
			t.Fatal(err)
		}
	}
	return engines[0], engines[0].Events()[0].Data, engines[1].Events()[0].Data
}

// The encoding is pinned: nodes of one version must understand each other.
func TestBlockIsPinned(t *testing.T) {
	_, own, others := twoNodes(t)
	for i, data := range [][]byte{own, others} {
		want := fmt.Sprintf("\x17\x02\x01\x07%c\x01\x00\x01\x00\x06P-card\x02\x01%c\x01\x00\x11\x00\xff", i, i)
		if string(data) != want {
			t.Errorf("node %d\n got %q\nwant %q", i, data, want)
		}
	}
}

func TestBadExchanges(t *testing.T) {
	for name, spoil := range map[string]func(own, others []byte) []byte{
		"nothing":      func(_, _ []byte) []byte { return nil },
		"own only":     func(own, _ []byte) []byte { return own },
		"twice":        func(own, _ []byte) []byte { return slices.Concat(own, own) },
		"cut":          func(own, others []byte) []byte { return slices.Concat(own, others[:len(others)-1]) },
		"more":         func(own, others []byte) []byte { return slices.Concat(own, others, []byte{1}) },
		"version":      func(own, others []byte) []byte { return slices.Concat(own, set(others, 1, 1)) },
		"kind":         func(own, others []byte) []byte { return slices.Concat(own, set(others, 2, 2)) },
		"unknown kind": func(own, others []byte) []byte { return slices.Concat(own, set(others, 2, 9)) },
		"job":          func(own, others []byte) []byte { return slices.Concat(own, set(others, 3, 8)) },
		"node":         func(own, others []byte) []byte { return slices.Concat(own, set(others, 4, 2)) },
		"sequence":     func(own, others []byte) []byte { return slices.Concat(own, set(others, 5, 2)) },
		"form":         func(own, others []byte) []byte { return slices.Concat(own, set(others, 6, 2)) },
		"many keys":    func(own, others []byte) []byte { return slices.Concat(own, set(others, 7, 100)) },
		"shared":       func(own, others []byte) []byte { return slices.Concat(own, set(others, 8, 1)) },
		"key length":   func(own, others []byte) []byte { return slices.Concat(own, set(others, 9, 100)) },
		"many sets":    func(own, others []byte) []byte { return slices.Concat(own, set(others, 17, 100)) },
		"other's rank": func(own, others []byte) []byte { return slices.Concat(own, set(others, 18, 0)) },
		"no such rank": func(own, others []byte) []byte { return slices.Concat(own, set(others, 18, 2)) },
		"many pairs":   func(own, others []byte) []byte { return slices.Concat(own, set(others, 19, 100)) },
		"no such key":  func(own, others []byte) []byte { return slices.Concat(own, set(others, 20, 1)) },
		"odd hex":      func(own, others []byte) []byte { return slices.Concat(own, set(others, 21, 3<<2|1)) },
		"value length": func(own, others []byte) []byte { return slices.Concat(own, set(others, 21, 100)) },
		"leftover":     func(own, others []byte) []byte { return slices.Concat(own, set(others, 21, 1<<2)) },
		"endless number": func(own, others []byte) []byte {
			return slices.Concat(own, slices.Repeat([]byte{0xff}, 12))
		},
	} {
		t.Run(name, func(t *testing.T) {
			e, own, others := twoNodes(t)
			err := e.FenceDone(1, spoil(own, others))
			if !errors.Is(err, ErrExchange) {
				t.Errorf("got %v, want %v", err, ErrExchange)
			}
			if events := e.Events(); len(events) != 0 {
				t.Errorf("ranks were released: %+v", events)
			}
		})
	}
}

func set(block []byte, at int, to byte) []byte {
	block = slices.Clone(block)
	block[at] = to
	return block
}

func TestFenceDoneOutOfTurn(t *testing.T) {
	e, own, others := twoNodes(t)
	if err := e.FenceDone(2, nil); !errors.Is(err, ErrExchange) {
		t.Errorf("a later fence: %v", err)
	}
	if err := e.FenceDone(1, slices.Concat(others, own)); err != nil {
		t.Fatal(err)
	}
	e.Events()
	if err := e.FenceDone(1, []byte("whatever")); err != nil || len(e.Events()) != 0 {
		t.Errorf("a repeated end: %v", err)
	}
	if err := e.FenceDone(2, nil); !errors.Is(err, ErrExchange) {
		t.Errorf("the end of a fence that nobody entered: %v", err)
	}
}

// The exchange of an MPICH start must come out smaller than its text.
func TestEncodingSaves(t *testing.T) {
	engines := newEngines(t, []int32{0, 0, 1, 1})
	for rank := range 4 {
		card := strings.Repeat(fmt.Sprintf("20%02XE3", rank), 70)
		if err := engines[rank/2].Put(rank, fmt.Appendf(nil, "-allgather-shm-1-%d", rank), []byte(card)); err != nil {
			t.Fatal(err)
		}
	}
	fenceAll(t, engines, func([][]byte) {})
	if s := engines[0].Stats(); s.PlainBytes != 2*(18+420+2) || s.PackedBytes*2 > s.PlainBytes {
		t.Errorf("%+v, want at most half", s)
	}
}

// FuzzFenceDone lets another node send anything: no panic, no memory beyond the
// data's size, no key that a rank could not have put.
func FuzzFenceDone(f *testing.F) {
	_, own, others := twoNodes(f)
	f.Add(others)
	f.Add(slices.Concat(others, own))
	f.Add([]byte{0x06, 0x01, 0x02, 0x07, 0x01, 0x01, 0x00})
	f.Fuzz(func(t *testing.T, others []byte) {
		e, own, _ := twoNodes(t)
		if err := e.FenceDone(1, slices.Concat(own, others)); err != nil {
			if !errors.Is(err, ErrExchange) && !errors.Is(err, ErrFull) {
				t.Errorf("an error of its own: %v", err)
			}
			return
		}
		for at, entry := range e.store.sets {
			if len(at.key) > MaxKey || len(entry.committed) > MaxValue || at.rank >= 2 {
				t.Errorf("rank %d has %q=%q", at.rank, at.key, entry.committed)
			}
		}
	})
}

// FuzzRing does the same for the other sort of block.
func FuzzRing(f *testing.F) {
	f.Add([]byte("\x0b\x01\x02\x07\x01\x01\x01\x01\x02\x01l\x01r"))
	f.Fuzz(func(t *testing.T, others []byte) {
		e := newEngines(t, []int32{0, 1})[0]
		if err := e.RingIn(0, 1, Ring{Count: 1, Left: "a", Right: "b"}); err != nil {
			t.Fatal(err)
		}
		own := e.Events()[0].Data
		err := e.FenceDone(1, slices.Concat(own, others))
		if err == nil && len(e.Events()) != 1 {
			t.Error("the ring ended without an answer")
		}
	})
}
