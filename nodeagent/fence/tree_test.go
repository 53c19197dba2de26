package fence

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// envelope is a message on its way.
type envelope struct {
	from, to int
	message  Message
}

// maker makes the exchange that one node of a job sees.
type maker func(nodes, self int) (Collective, error)

func makeTree(nodes, self int) (Collective, error)  { return NewTree(nodes, self) }
func makeRing(nodes, self int) (Collective, error)  { return NewRing(nodes, self) }
func makeBruck(nodes, self int) (Collective, error) { return NewBruck(nodes, self) }

// makeChooser makes one to which some of the tests' pieces are large.
func makeChooser(by Algorithm) maker {
	return func(nodes, self int) (Collective, error) {
		c, err := New(nodes, self, by)
		if by != TreeAlgorithm {
			c.small = len("0/1;")
		}
		return c, err
	}
}

// makers are all that there are.
var makers = map[string]maker{
	"tree": makeTree, "ring": makeRing, "bruck": makeBruck, "chosen tree": makeChooser(TreeAlgorithm),
	"chosen ring": makeChooser(RingAlgorithm), "chosen bruck": makeChooser(BruckAlgorithm), "auto": makeChooser(Auto),
}

// network is the collectives of all nodes and what is between them.
type network struct {
	make  maker
	nodes []Collective
	wire  []envelope
	// done holds what each node got, per exchange.
	done   map[int]map[uint64]string
	failed map[int]error
}

func newTrees(t testing.TB, n int) *network { return newNetwork(t, n, makeTree) }

func newNetwork(t testing.TB, n int, by maker) *network {
	t.Helper()
	w := &network{make: by, done: make(map[int]map[uint64]string), failed: make(map[int]error)}
	for self := range n {
		node, err := by(n, self)
		if err != nil {
			t.Fatal(err)
		}
		w.nodes = append(w.nodes, node)
		w.done[self] = make(map[uint64]string)
	}
	return w
}

func (w *network) handle(self int, effects []Effect) {
	if tree, ok := w.nodes[self].(*Tree); ok {
		if err := tree.checkInvariants(); err != nil {
			panic(err)
		}
	}
	for _, e := range effects {
		switch e.Kind {
		case Send:
			w.wire = append(w.wire, envelope{self, e.To, e.Message})
		case Done:
			w.done[self][e.Message.Op.Seq] = sorted(e.Message.Data)
		case Failed:
			w.failed[self] = e.Err
		case Large:
			panic("of a SmallExchange alone")
		}
	}
}

// checkInvariants says what is wrong inside the tree, if anything.
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

// sorted makes pieces comparable, whose order is free. Each ends with ';'.
func sorted(data [][]byte) string {
	pieces := strings.Split(strings.TrimSuffix(string(bytes.Join(data, nil)), ";"), ";")
	slices.Sort(pieces)
	return strings.Join(pieces, ";")
}

func piece(node int, seq uint64) []byte { return fmt.Appendf(nil, "%d/%d;", node, seq) }

func allPieces(n int, seq uint64) string {
	var all [][]byte
	for node := range n {
		all = append(all, piece(node, seq))
	}
	return sorted(all)
}

func (w *network) add(node int, seq uint64) {
	w.handle(node, w.nodes[node].Add(Op{Seq: seq}, piece(node, seq)))
}

// deliver takes message i off the wire and delivers it.
func (w *network) deliver(i int) {
	e := w.wire[i]
	w.wire = slices.Delete(w.wire, i, i+1)
	w.handle(e.to, w.nodes[e.to].Receive(e.from, e.message))
}

// Whatever order messages come in, and however often, every node gets the
// pieces of all nodes, each of the right exchange.
func TestAnyOrder(t *testing.T) {
	for name, by := range makers {
		t.Run(name, func(t *testing.T) { anyOrder(t, by) })
	}
}

func anyOrder(t *testing.T, by maker) {
	rapid.Check(t, func(rt *rapid.T) {
		few := rapid.IntRange(1, 12)
		n := rapid.OneOf(few, few, few, rapid.IntRange(1, 70)).Draw(rt, "nodes")
		rounds := uint64(rapid.IntRange(1, 3).Draw(rt, "rounds"))
		w := newNetwork(t, n, by)
		next := make([]uint64, n)
		ready := make([]int, n)
		for node := range n {
			next[node], ready[node] = 1, node
		}
		for len(ready) > 0 || len(w.wire) > 0 {
			i := rapid.IntRange(0, len(ready)+len(w.wire)-1).Draw(rt, "what")
			if i < len(ready) {
				node := ready[i]
				ready = slices.Delete(ready, i, i+1)
				w.add(node, next[node])
				next[node]++
			} else {
				i -= len(ready)
				if rapid.IntRange(0, 9).Draw(rt, "again") == 0 {
					w.wire = append(w.wire, w.wire[i]) // it comes once more, at any time
				}
				w.deliver(i)
			}
			for node := range n {
				// A node adds to an exchange when it has the one before.
				over := uint64(len(w.done[node])) == next[node]-1
				if over && next[node] <= rounds && !slices.Contains(ready, node) {
					ready = append(ready, node)
				}
			}
			if len(w.failed) > 0 {
				rt.Fatalf("failed: %v", w.failed)
			}
		}
		for node := range n {
			for seq := uint64(1); seq <= rounds; seq++ {
				if got, want := w.done[node][seq], allPieces(n, seq); got != want {
					rt.Fatalf("node %d, exchange %d: got %q, want %q", node, seq, got, want)
				}
			}
		}
	})
}

// drain delivers all messages in their order. All that is on the wire at once is one hop.
func drain(wire *[]envelope, deliver func(int)) (messages, hops int) {
	for ; len(*wire) > 0; hops++ {
		for range len(*wire) {
			deliver(0)
			messages++
		}
	}
	return messages, hops
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
func TestChildAhead(t *testing.T) {
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
func TestChildFarAhead(t *testing.T) {
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

// Agents restart and forget: what was on its way to them may be lost, their
// nodes add again what has no result, and the neighbours repeat.
func TestRestarts(t *testing.T) {
	for name, by := range makers {
		t.Run(name, func(t *testing.T) { withRestarts(t, by) })
	}
}

func withRestarts(t *testing.T, by maker) {
	rapid.Check(t, func(rt *rapid.T) {
		few := rapid.IntRange(1, 14)
		n := rapid.OneOf(few, few, few, few, few, few, few, few, rapid.IntRange(60, 75)).Draw(rt, "nodes")
		rounds := uint64(rapid.IntRange(1, 4).Draw(rt, "rounds"))
		w := newNetwork(t, n, by)
		added := make([]uint64, n)
		for restarts := 0; !w.allDone(rounds); {
			var ready []int
			for node := range n {
				if over := uint64(len(w.done[node])); added[node] == over && over < rounds {
					ready = append(ready, node)
				}
			}
			if len(ready)+len(w.wire) == 0 {
				rt.Fatalf("nothing happens any more; done: %v", w.done)
			}
			i := rapid.IntRange(0, len(ready)+len(w.wire)-1).Draw(rt, "what")
			if i < len(ready) {
				node := ready[i]
				added[node]++
				w.add(node, added[node])
			} else {
				w.deliver(i - len(ready))
			}
			if restarts < 3 && rapid.IntRange(0, 7).Draw(rt, "restart") == 0 {
				restarts++
				w.restart(rt, rapid.IntRange(0, n-1).Draw(rt, "node"), added)
				// The next one comes when this one is over.
				for len(w.wire) > 0 {
					w.deliver(rapid.IntRange(0, len(w.wire)-1).Draw(rt, "message"))
				}
			}
			if len(w.failed) > 0 {
				rt.Fatalf("failed: %v", w.failed)
			}
		}
		for node := range n {
			for seq := uint64(1); seq <= rounds; seq++ {
				if got, want := w.done[node][seq], allPieces(n, seq); got != want {
					rt.Fatalf("node %d, exchange %d: got %q, want %q", node, seq, got, want)
				}
			}
		}
	})
}

func (w *network) allDone(rounds uint64) bool {
	for _, done := range w.done {
		if uint64(len(done)) < rounds {
			return false
		}
	}
	return true
}

// restart gives a node a new tree.
func (w *network) restart(rt *rapid.T, node int, added []uint64) {
	fresh, err := w.make(len(w.nodes), node)
	if err != nil {
		rt.Fatal(err)
	}
	w.nodes[node] = fresh
	w.wire = slices.DeleteFunc(w.wire, func(e envelope) bool {
		return e.to == node && rapid.Bool().Draw(rt, "lost")
	})
	again := func() {
		if added[node] > uint64(len(w.done[node])) {
			w.add(node, added[node])
		}
	}
	first := rapid.Bool().Draw(rt, "adds first")
	if first {
		again()
	}
	for other := range w.nodes {
		w.handle(other, w.nodes[other].Repeat(node))
	}
	if !first {
		again()
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
func TestLost(t *testing.T) {
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
