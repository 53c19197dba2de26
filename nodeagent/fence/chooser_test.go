package fence

import (
	"bytes"
	"errors"
	"testing"
)

// via runs an exchange and returns which algorithms carried messages.
func via(t *testing.T, w *network, seq uint64, sizes []int) map[Algorithm]bool {
	t.Helper()
	used := make(map[Algorithm]bool)
	var got [][]byte
	take := func(self int, effects []Effect) {
		for _, e := range effects {
			switch e.Kind {
			case Send:
				used[e.Message.Via] = true
				w.wire = append(w.wire, envelope{self, e.To, e.Message})
			case Done:
				if n := bytesOf(e.Message.Data); n != sum(sizes) || len(e.Message.Data) != len(sizes) {
					t.Errorf("node %d got %d bytes from %d nodes, want %d", self, n, len(e.Message.Data), sum(sizes))
				}
				got = append(got, nil)
			case Failed, Large:
				t.Errorf("node %d: %v", self, e.Err)
			}
		}
	}
	for node, size := range sizes {
		take(node, w.nodes[node].Add(Op{Seq: seq}, bytes.Repeat([]byte{byte(node)}, size)))
	}
	for len(w.wire) > 0 {
		e := w.wire[0]
		w.wire = w.wire[1:]
		take(e.to, w.nodes[e.to].Receive(e.from, e.message))
	}
	if len(got) != len(sizes) {
		t.Errorf("exchange %d is over on %d of %d nodes", seq, len(got), len(sizes))
	}
	return used
}

func sum(numbers []int) (all int) {
	for _, n := range numbers {
		all += n
	}
	return all
}

func same(n, size int) []int {
	sizes := make([]int, n)
	for i := range sizes {
		sizes[i] = size
	}
	return sizes
}

// An exchange without data is the tree's, whatever was chosen; with data it is what was chosen, or
// what the sizes ask for.
func TestChoice(t *testing.T) {
	const n = 9
	large := same(n, 0)
	large[4] = TreeBytes + 1
	for _, tt := range []struct {
		by    Algorithm
		sizes []int
		want  Algorithm
	}{
		{Auto, same(n, 0), TreeAlgorithm},
		{Auto, same(n, TreeBytes/n), TreeAlgorithm},
		{Auto, same(n, TreeBytes/n+1), BruckAlgorithm},
		{Auto, large, BruckAlgorithm},
		{RingAlgorithm, same(n, empty), TreeAlgorithm},
		{RingAlgorithm, same(n, empty+1), RingAlgorithm},
		{RingAlgorithm, large, RingAlgorithm},
		{BruckAlgorithm, same(n, 0), TreeAlgorithm},
		{BruckAlgorithm, same(n, 100), BruckAlgorithm},
		{TreeAlgorithm, same(n, TreeBytes), TreeAlgorithm},
		{TreeAlgorithm, large, TreeAlgorithm},
	} {
		w := newNetwork(t, len(tt.sizes), func(nodes, self int) (Collective, error) { return New(nodes, self, tt.by) })
		for seq := uint64(1); seq <= 3; seq++ {
			if used := via(t, w, seq, tt.sizes); !used[tt.want] || len(used) > 2 || len(used) == 2 && !used[TreeAlgorithm] {
				t.Errorf("%v of %d bytes: by %v, want %v", tt.by, sum(tt.sizes), used, tt.want)
			}
		}
	}
}

// Exchanges with and without data follow each other, and each is its own.
func TestChoiceChanges(t *testing.T) {
	w := newNetwork(t, 5, func(nodes, self int) (Collective, error) { return New(nodes, self, Auto) })
	for seq, size := range []int{0, TreeBytes, 0, 0, 100, TreeBytes, TreeBytes} {
		if used := via(t, w, uint64(seq+1), same(5, size)); used[BruckAlgorithm] != (size == TreeBytes) {
			t.Errorf("exchange %d of %d bytes: by %v", seq+1, size, used)
		}
	}
}

// A node that lies about its size is found out by all.
func TestSizesThatLie(t *testing.T) {
	for name, word := range map[string][]byte{
		"nothing": nil, "no number": {0xff}, "short": {3, 'x'}, "long": {1, 'x', 'y'}, "data of a large one": append([]byte{0xff, 0xff, 0x7f}, 'x'),
		"of the sky": {0xff, 0xff, 0xff, 0xff, 0xff, 0x7f},
	} {
		c, err := New(2, 0, Auto)
		if err != nil {
			t.Fatal(err)
		}
		c.Add(Op{Seq: 1}, nil)
		effects := c.Receive(1, Message{Op: Op{Seq: 1}, Via: TreeAlgorithm, Step: Up, Data: [][]byte{word}})
		last := effects[len(effects)-1]
		if last.Kind != Failed || !errors.Is(last.Err, ErrProtocol) {
			t.Errorf("%s: %+v", name, effects)
		}
		if c.Neighbours() != nil || c.Repeat(1) != nil && len(c.Repeat(1)) > 0 {
			t.Errorf("%s: it goes on", name)
		}
	}
}

func TestTogetherTooLarge(t *testing.T) {
	c, err := New(2, 0, Auto)
	if err != nil {
		t.Fatal(err)
	}
	half := make([]byte, MaxBytes/2+1)
	c.Add(Op{Seq: 1}, half)
	word := []byte{0x81, 0x80, 0x80, 0x40} // MaxBytes/2+1
	effects := c.Receive(1, Message{Op: Op{Seq: 1}, Via: TreeAlgorithm, Step: Up, Data: [][]byte{word}})
	if last := effects[len(effects)-1]; !errors.Is(last.Err, ErrTooLarge) {
		t.Errorf("%+v", effects)
	}
	if effects = c.Add(Op{Seq: 2}, nil); len(effects) != 1 || !errors.Is(effects[0].Err, ErrTooLarge) {
		t.Errorf("after the end: %+v", effects)
	}
}

func TestNoSuchAlgorithm(t *testing.T) {
	if _, err := New(2, 0, algorithms); !errors.Is(err, ErrAlgorithm) {
		t.Error(err)
	}
	for _, by := range []maker{makeRing, makeBruck, func(n, self int) (Collective, error) { return New(n, self, Auto) }} {
		if _, err := by(2, 2); !errors.Is(err, ErrShape) {
			t.Error(err)
		}
	}
}
