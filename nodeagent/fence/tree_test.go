package fence

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// checkInvariants returns what is wrong inside the tree, or nil.
func (t *Tree) checkInvariants() error {
	for kind := range t.exchanges {
		x := &t.exchanges[kind]
		switch {
		case x.phase == outside && (x.own != nil || x.up != nil):
			return fmt.Errorf("node %d keeps its piece of exchange %d, which is over", t.self, x.seq)
		case x.phase != outside && !x.known:
			return fmt.Errorf("node %d is in an exchange it does not know", t.self)
		case x.phase == waiting && t.self == 0:
			return errors.New("the root waits for a parent")
		case x.known && x.early.seq != 0:
			return fmt.Errorf("node %d keeps an early result of exchange %d", t.self, x.early.seq)
		case x.known && x.last.seq > x.seq:
			return fmt.Errorf("node %d is in exchange %d and has the result of %d", t.self, x.seq, x.last.seq)
		}
		for i, piece := range x.pieces {
			if i >= t.children && piece.seq != 0 || x.known && piece.seq > x.seq+1 {
				return fmt.Errorf("node %d has a piece of exchange %d from child %d", t.self, piece.seq, i)
			}
		}
	}
	return nil
}

// Two messages per node and exchange, and no more hops than the tree is deep.
func TestCost(t *testing.T) {
	for n, depth := range map[int]int{1: 0, 2: 1, 9: 1, 10: 2, 73: 2, 74: 3} {
		w := newTrees(t, n)
		for node := range n {
			w.add(node, 1)
		}
		messages, hops := drain(&w.wire, w.deliver)
		if messages != 2*(n-1) || hops != 2*depth {
			t.Errorf("%d nodes: %d messages in %d hops, want %d in %d", n, messages, hops, 2*(n-1), 2*depth)
		}
	}
}

// A child may be an exchange ahead: its next piece comes before this node has
// added its own.
func TestChildOneExchangeAhead(t *testing.T) {
	w := newTrees(t, 2)
	w.add(0, 1)
	w.add(1, 1)
	w.deliver(0)
	w.deliver(0)
	w.add(1, 2)
	w.deliver(0)
	if len(w.done[0]) != 1 || len(w.failed) != 0 {
		t.Fatalf("done %v, failed %v", w.done[0], w.failed)
	}
	w.add(0, 2)
	if w.done[0][2] != allPieces(2, 2) {
		t.Errorf("got %q", w.done[0][2])
	}
}

func TestNoSuchNode(t *testing.T) {
	for _, tt := range [][2]int{{0, 0}, {2, 2}, {2, -1}, {-1, 0}} {
		if _, err := NewTree(tt[0], tt[1]); !errors.Is(err, ErrShape) {
			t.Errorf("node %d of %d: %v", tt[1], tt[0], err)
		}
	}
}

// What a node of the job can do wrong to node 0 or 1 of three, after the first
// exchange.
func TestProtocolErrors(t *testing.T) {
	op := Op{Seq: 2}
	for name, do := range map[string]func(zero, one Collective) []Effect{
		"up of no child":   func(_, one Collective) []Effect { return one.Receive(2, Message{Op: op, Via: TreeAlgorithm, Step: Up}) },
		"up of the parent": func(_, one Collective) []Effect { return one.Receive(0, Message{Op: op, Via: TreeAlgorithm, Step: Up}) },
		"up of nobody": func(zero, _ Collective) []Effect {
			return zero.Receive(-1, Message{Op: op, Via: TreeAlgorithm, Step: Up})
		},
		"up of oneself": func(zero, _ Collective) []Effect {
			return zero.Receive(0, Message{Op: op, Via: TreeAlgorithm, Step: Up})
		},
		"down of no one": func(_, one Collective) []Effect {
			return one.Receive(2, Message{Op: op, Via: TreeAlgorithm, Step: Down})
		},
		"end without root": func(zero, _ Collective) []Effect {
			return zero.Receive(1, Message{Op: op, Via: TreeAlgorithm, Step: Down})
		},
		"end without child": func(_, one Collective) []Effect {
			return one.Receive(0, Message{Op: op, Via: TreeAlgorithm, Step: Down})
		},
		"an unknown step": func(zero, _ Collective) []Effect {
			return zero.Receive(1, Message{Op: op, Via: TreeAlgorithm, Step: 9})
		},
		"an unknown kind": func(zero, _ Collective) []Effect {
			return zero.Receive(1, Message{Op: Op{Kind: kinds, Seq: 2}, Via: TreeAlgorithm})
		},
		"exchange 0":       func(zero, _ Collective) []Effect { return zero.Receive(1, Message{Op: Op{}, Via: TreeAlgorithm}) },
		"far ahead":        func(zero, _ Collective) []Effect { return zero.Receive(1, Message{Op: Op{Seq: 3}, Via: TreeAlgorithm}) },
		"own kind unknown": func(zero, _ Collective) []Effect { return zero.Add(Op{Kind: kinds, Seq: 2}, nil) },
		"own piece early":  func(zero, _ Collective) []Effect { return zero.Add(Op{Seq: 3}, nil) },
		"own piece late":   func(zero, _ Collective) []Effect { return zero.Add(Op{Seq: 1}, nil) },
		"own piece twice": func(zero, _ Collective) []Effect {
			zero.Add(op, nil)
			return zero.Add(op, nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newTrees(t, 3)
			for node := range 3 {
				w.add(node, 1)
			}
			for len(w.wire) > 0 {
				w.deliver(0)
			}
			effects := do(w.nodes[0], w.nodes[1])
			if len(effects) != 1 || effects[0].Kind != Failed || !errors.Is(effects[0].Err, ErrProtocol) {
				t.Errorf("got %+v", effects)
			}
		})
	}
}

// A piece of an exchange that others know to be over.
// A node that begins cannot tell that a child is far ahead; when it adds its own
// piece it can, and says so instead of waiting for a piece that was put aside.
func TestChildFarAheadIsReported(t *testing.T) {
	for _, test := range []struct {
		seq uint64
		far bool
	}{{1, false}, {2, false}, {3, true}, {1 << 60, true}} {
		w := newTrees(t, 2)
		ahead := Message{Op: Op{Seq: test.seq}, Via: TreeAlgorithm, Step: Up, Data: [][]byte{[]byte("b")}}
		w.handle(0, w.nodes[0].Receive(1, ahead))
		w.handle(0, w.nodes[0].Receive(1, Message{Op: Op{Seq: 1}, Via: TreeAlgorithm, Step: Up, Data: [][]byte{[]byte("b")}}))
		w.handle(0, w.nodes[0].Add(Op{Seq: 1}, []byte("a")))
		if failed := w.failed[0]; errors.Is(failed, ErrProtocol) != test.far {
			t.Errorf("a child in exchange %d: %v", test.seq, failed)
		} else if test.far && !strings.Contains(failed.Error(), fmt.Sprintf("node 1 is in exchange %d, this node in exchange 1", test.seq)) {
			t.Errorf("a child in exchange %d: %v", test.seq, failed)
		}
	}
}

func TestAddOfThePast(t *testing.T) {
	w := newTrees(t, 2)
	w.nodes[1].Receive(0, Message{Op: Op{Seq: 5}, Via: TreeAlgorithm, Step: Down, Data: make([][]byte, 2)})
	effects := w.nodes[1].Add(Op{Seq: 4}, nil)
	if len(effects) != 1 || !errors.Is(effects[0].Err, ErrProtocol) {
		t.Errorf("got %+v", effects)
	}
}

func TestTooLarge(t *testing.T) {
	// The same bytes again and again: the bound is on what they add up to.
	huge := make([]byte, MaxBytes/2+1)
	w := newTrees(t, 3)
	w.nodes[0].Add(Op{Seq: 1}, huge)
	effects := w.nodes[0].Receive(1, Message{Op: Op{Seq: 1}, Via: TreeAlgorithm, Step: Up, Data: [][]byte{huge}})
	if len(effects) != 1 || !errors.Is(effects[0].Err, ErrTooLarge) {
		t.Errorf("a large sum: %+v", effects)
	}
	w = newTrees(t, 3)
	w.nodes[1].Add(Op{Seq: 1}, nil)
	effects = w.nodes[1].Receive(0, Message{Op: Op{Seq: 1}, Via: TreeAlgorithm, Step: Down, Data: [][]byte{make([]byte, MaxBytes+1)}})
	if len(effects) != 1 || !errors.Is(effects[0].Err, ErrTooLarge) {
		t.Errorf("a large result: %+v", effects)
	}
}

// A lost node ends the exchange with a reason that names it; whoever comes
// later is told, and messages that still arrive are nothing.
func TestLostNode(t *testing.T) {
	w := newTrees(t, 4)
	w.add(0, 1)
	effects := w.nodes[0].Lost(2, "its agent has not answered for 5 s")
	if len(effects) != 1 || !errors.Is(effects[0].Err, ErrLost) {
		t.Fatalf("got %+v", effects)
	}
	if text := effects[0].Err.Error(); !strings.Contains(text, "node 2: its agent has not answered") {
		t.Errorf("got %q", text)
	}
	if effects := w.nodes[0].Lost(3, "it too"); len(effects) != 0 {
		t.Errorf("a second loss made %+v", effects)
	}
	if effects := w.nodes[0].Receive(1, Message{Op: Op{Seq: 1}}); len(effects) != 0 {
		t.Errorf("a message after the end made %+v", effects)
	}
	if effects := w.nodes[0].Add(Op{Seq: 2}, nil); len(effects) != 1 || !errors.Is(effects[0].Err, ErrLost) {
		t.Errorf("a piece after the end made %+v", effects)
	}
	for _, nobody := range []int{-1, 4, 1} {
		if effects := w.nodes[1].Lost(nobody, "x"); len(effects) != 0 {
			t.Errorf("the loss of %d on node 1 made %+v", nobody, effects)
		}
	}
}

// The data of others is passed on as it came; nodes share it and none may
// write into it.
func TestDataIsNotChanged(t *testing.T) {
	w := newTrees(t, 3)
	data := make([][]byte, 3)
	for node := range data {
		data[node] = append(make([]byte, 0, 100), piece(node, 1)...)
		w.handle(node, w.nodes[node].Add(Op{Seq: 1}, data[node]))
	}
	for len(w.wire) > 0 {
		w.deliver(0)
	}
	for node := range data {
		if !bytes.Equal(data[node], piece(node, 1)) || w.done[node][1] != allPieces(3, 1) {
			t.Errorf("node %d: its piece is %q now, it got %q", node, data[node], w.done[node][1])
		}
	}
}

// FuzzReceive lets a node of five send anything to one in the middle.
func FuzzReceive(f *testing.F) {
	f.Add(uint8(0), 9, uint64(1), uint32(0), []byte("x"), true)
	f.Add(uint8(0), 1, uint64(1), uint32(0), []byte("x"), true)
	f.Add(uint8(0), 0, uint64(1), uint32(1), []byte("x"), true)
	f.Fuzz(func(t *testing.T, kind uint8, from int, seq uint64, step uint32, data []byte, added bool) {
		w := newTrees(t, 12)
		if added {
			w.add(1, 1)
		}
		effects := w.nodes[1].Receive(from, Message{Op: Op{Kind: Kind(kind), Seq: seq}, Via: TreeAlgorithm, Step: Step(step), Data: [][]byte{data}})
		for _, e := range effects {
			if e.Kind == Send && (e.To < 0 || e.To >= 12 || e.To == 1) {
				t.Errorf("a message to node %d", e.To)
			}
			if e.Kind == Failed && e.Err == nil {
				t.Error("failed for no reason")
			}
		}
	})
}

// BenchmarkFence is one exchange of 64 nodes with 1 KB each.
func BenchmarkFence(b *testing.B) {
	const n = 64
	w := newTrees(b, n)
	data := make([]byte, 1024)
	var seq uint64
	b.ReportAllocs()
	for b.Loop() {
		seq++
		for node := range n {
			for _, e := range w.nodes[node].Add(Op{Seq: seq}, data) {
				w.wire = append(w.wire, envelope{node, e.To, e.Message})
			}
		}
		for len(w.wire) > 0 {
			e := w.wire[0]
			w.wire = w.wire[1:]
			for _, effect := range w.nodes[e.to].Receive(e.from, e.message) {
				if effect.Kind == Send {
					w.wire = append(w.wire, envelope{e.to, effect.To, effect.Message})
				}
			}
		}
	}
}
