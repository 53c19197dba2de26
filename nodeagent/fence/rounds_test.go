package fence

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Each algorithm takes the messages and the hops that it is said to take.
func TestCosts(t *testing.T) {
	for n, log := range map[int]int{1: 0, 2: 1, 3: 2, 4: 2, 5: 3, 64: 6, 65: 7} {
		for name, want := range map[string]struct{ messages, hops int }{
			"ring": {n * (n - 1), n - 1}, "bruck": {n * log, log},
			"chosen ring": {2*(n-1) + n*(n-1), -1}, "chosen bruck": {2*(n-1) + n*log, -1}, "chosen tree": {2 * (n - 1), -1},
		} {
			w := newNetwork(t, n, makers[name])
			for node := range n {
				w.add(node, 1000)
			}
			messages, hops := drain(&w.wire, w.deliver)
			if messages != want.messages || want.hops >= 0 && hops != want.hops {
				t.Errorf("%s, %d nodes: %d messages in %d hops, want %+v", name, n, messages, hops, want)
			}
		}
	}
}

// Every piece goes to every node once, but for the tree's.
func TestBytes(t *testing.T) {
	for _, n := range []int{1, 2, 3, 5, 8, 13, 64, 100} {
		for _, name := range []string{"ring", "bruck"} {
			w, sent := newNetwork(t, n, makers[name]), 0
			for node := range n {
				w.handle(node, w.nodes[node].Add(Op{Seq: 1}, []byte{1}))
			}
			for len(w.wire) > 0 {
				sent += bytesOf(w.wire[0].message.Data)
				w.deliver(0)
			}
			if sent != n*(n-1) {
				t.Errorf("%s, %d nodes: %d bytes were sent, want %d", name, n, sent, n*(n-1))
			}
		}
	}
}

// A node that dies in the midst of it ends the exchange for all that have not got everything, with
// the reason, whenever they hear of it; who has all has all.
func TestDeathInTheMiddle(t *testing.T) {
	for name, by := range makers {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) { deathInTheMiddle(rt, t, by) })
		})
	}
}

func deathInTheMiddle(rt *rapid.T, t *testing.T, by maker) {
	n := rapid.IntRange(2, 20).Draw(rt, "nodes")
	dead := rapid.IntRange(0, n-1).Draw(rt, "dead")
	w := newNetwork(t, n, by)
	w.add(0, 1)
	for node := 1; node < n; node++ {
		if node != dead || rapid.Bool().Draw(rt, "the dead one has added") {
			w.add(node, 1)
		}
	}
	for range rapid.IntRange(0, 3*n).Draw(rt, "deliveries") {
		if len(w.wire) > 0 {
			w.deliver(rapid.IntRange(0, len(w.wire)-1).Draw(rt, "message"))
		}
	}
	const reason = "its agent has not answered for 5 s"
	w.wire = slices.DeleteFunc(w.wire, func(e envelope) bool { return e.to == dead })
	for hear := rapid.Permutation(seq(n)).Draw(rt, "who hears first"); len(hear) > 0 || len(w.wire) > 0; {
		if len(hear) > 0 && (len(w.wire) == 0 || rapid.Bool().Draw(rt, "hears")) {
			if hear[0] != dead {
				w.handle(hear[0], w.nodes[hear[0]].Lost(dead, reason))
			}
			hear = hear[1:]
			continue
		}
		if i := rapid.IntRange(0, len(w.wire)-1).Draw(rt, "message"); w.wire[i].to == dead {
			w.wire = slices.Delete(w.wire, i, i+1)
		} else {
			w.deliver(i)
		}
	}
	for node := range n {
		err := w.failed[node]
		if node != dead && (!errors.Is(err, ErrLost) || !strings.Contains(err.Error(), fmt.Sprintf("node %d: %s", dead, reason))) {
			rt.Fatalf("node %d: %v; done %v", node, err, w.done[node])
		}
		if got := w.done[node][1]; got != "" && got != allPieces(n, 1) {
			rt.Fatalf("node %d got %q", node, got)
		}
		if effects := w.nodes[node].Add(Op{Seq: 2}, nil); node != dead && (len(effects) != 1 || !errors.Is(effects[0].Err, ErrLost)) {
			rt.Fatalf("node %d: a piece after the end made %+v", node, effects)
		}
		if more := w.nodes[node].Repeat((node + 1) % n); node != dead && len(more) > 0 {
			rt.Fatalf("node %d repeats %+v", node, more)
		}
	}
}

func seq(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

// What another node can do wrong to node 0 of five in rounds.
func TestRoundsProtocolErrors(t *testing.T) {
	one, two := make([][]byte, 1), make([][]byte, 2)
	for name, m := range map[string]struct {
		from int
		Message
	}{
		"not my neighbour":  {2, Message{Op: Op{Seq: 1}, Via: BruckAlgorithm, Step: 0, Data: one}},
		"nobody":            {-1, Message{Op: Op{Seq: 1}, Via: BruckAlgorithm, Step: 0, Data: one}},
		"another's round":   {1, Message{Op: Op{Seq: 1}, Via: BruckAlgorithm, Step: 1, Data: two}},
		"no such round":     {1, Message{Op: Op{Seq: 1}, Via: BruckAlgorithm, Step: 3, Data: one}},
		"far too late":      {1, Message{Op: Op{Seq: 1}, Via: BruckAlgorithm, Step: 1 << 31, Data: one}},
		"too few pieces":    {2, Message{Op: Op{Seq: 1}, Via: BruckAlgorithm, Step: 1, Data: one}},
		"too many":          {1, Message{Op: Op{Seq: 1}, Via: BruckAlgorithm, Step: 0, Data: two}},
		"none":              {1, Message{Op: Op{Seq: 1}, Via: BruckAlgorithm, Step: 0}},
		"exchange 0":        {1, Message{Via: BruckAlgorithm, Step: 0, Data: one}},
		"an unknown kind":   {1, Message{Op: Op{Kind: kinds, Seq: 1}, Via: BruckAlgorithm, Step: 0, Data: one}},
		"another algorithm": {1, Message{Op: Op{Seq: 1}, Via: RingAlgorithm, Step: 0, Data: one}},
	} {
		b, err := newBruck(5, 0)
		if err != nil {
			t.Fatal(err)
		}
		effects := b.Receive(m.from, m.Message)
		if len(effects) != 1 || !errors.Is(effects[0].Err, ErrProtocol) {
			t.Errorf("%s: %+v", name, effects)
		}
	}
}

// What a node adds out of turn ends it, too.
func TestRoundsOutOfTurn(t *testing.T) {
	for _, seqs := range [][]uint64{{0}, {1, 1}, {2, 1}, {1, 2}} {
		b, err := newBruck(3, 0)
		if err != nil {
			t.Fatal(err)
		}
		var effects []Effect
		for _, seq := range seqs {
			effects = b.Add(Op{Seq: seq}, nil)
		}
		if len(effects) != 1 || !errors.Is(effects[0].Err, ErrProtocol) {
			t.Errorf("%v: %+v", seqs, effects)
		}
	}
}

// The bound is on what pieces add up to, those that came early as well.
func TestRoundsTooLarge(t *testing.T) {
	huge := make([]byte, MaxBytes/2+1)
	b, err := newBruck(8, 0)
	if err != nil {
		t.Fatal(err)
	}
	b.Add(Op{Seq: 1}, huge)
	effects := b.Receive(1, Message{Op: Op{Seq: 1}, Via: BruckAlgorithm, Data: [][]byte{huge}})
	if len(effects) != 1 || !errors.Is(effects[0].Err, ErrTooLarge) {
		t.Errorf("a large sum: %+v", effects)
	}
	if b, err = newBruck(8, 0); err != nil {
		t.Fatal(err)
	}
	for i := range 4 {
		round, seq := i/2, uint64(i%2+1)
		data := make([][]byte, 1<<round)
		data[0] = huge
		effects = b.Receive(1<<round, Message{Op: Op{Seq: seq}, Via: BruckAlgorithm, Step: Step(round), Data: data})
	}
	if len(effects) != 1 || !errors.Is(effects[0].Err, ErrTooLarge) {
		t.Errorf("what comes early: %+v", effects)
	}
}

// FuzzRounds lets a node of twelve send anything to one in the middle.
func FuzzRounds(f *testing.F) {
	f.Add(uint8(0), uint8(3), 2, uint64(1), uint32(0), uint8(1), []byte("x"), true)
	f.Add(uint8(0), uint8(2), 0, uint64(2), uint32(7), uint8(1), []byte("x"), true)
	f.Add(uint8(0), uint8(1), 0, uint64(1), uint32(1), uint8(12), []byte("\x01x"), true)
	f.Fuzz(func(t *testing.T, kind, via uint8, from int, seq uint64, step uint32, pieces uint8, data []byte, added bool) {
		for _, by := range []maker{makeRing, makeBruck, makeChooser(Auto)} {
			w := newNetwork(t, 12, by)
			if added {
				w.add(1, 1)
			}
			m := Message{Op: Op{Kind: Kind(kind), Seq: seq}, Via: Algorithm(via), Step: Step(step)}
			for range pieces {
				m.Data = append(m.Data, data)
			}
			for _, e := range w.nodes[1].Receive(from, m) {
				if e.Kind == Send && (e.To < 0 || e.To >= 12 || e.To == 1) {
					t.Errorf("a message to node %d", e.To)
				}
				if e.Kind == Failed && e.Err == nil {
					t.Error("failed for no reason")
				}
			}
		}
	})
}
