package fence

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

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
