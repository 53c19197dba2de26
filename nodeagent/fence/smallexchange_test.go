package fence

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

// smallExchanges is a job of them, and what is between them.
type smallExchanges struct {
	nodes  []*SmallExchange
	wire   []envelope
	done   []map[uint64]string
	large  []map[uint64]string // own pieces by the number of the other exchange
	failed []error
}

func newSmallExchanges(t testing.TB, n int, by Algorithm) *smallExchanges {
	t.Helper()
	w := &smallExchanges{failed: make([]error, n)}
	for self := range n {
		f, err := NewSmallExchange(n, self, by)
		if err != nil {
			t.Fatal(err)
		}
		w.nodes = append(w.nodes, f)
		w.done = append(w.done, map[uint64]string{})
		w.large = append(w.large, map[uint64]string{})
	}
	return w
}

func (w *smallExchanges) handle(self int, effects []Effect) {
	for _, e := range effects {
		switch e.Kind {
		case Send:
			w.wire = append(w.wire, envelope{self, e.To, e.Message})
		case Done:
			w.done[self][e.Message.Op.Seq] = sorted(e.Message.Data)
		case Large:
			w.large[self][e.Message.Op.Seq] = string(e.Message.Data[0])
		case Failed:
			w.failed[self] = e.Err
		}
	}
}

func (w *smallExchanges) deliver(i int) {
	e := w.wire[i]
	w.wire = append(w.wire[:i:i], w.wire[i+1:]...)
	w.handle(e.to, w.nodes[e.to].Receive(e.from, e.message))
}

// In whatever order messages come, all nodes get all small pieces of an exchange, or all are told
// that it is a large one, under the same number.
func TestSmallExchange(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(1, 20).Draw(rt, "nodes")
		w := newSmallExchanges(t, n, Auto)
		at := make([]uint64, n) // exchanges that each has added to
		var isLarge []bool
		const exchanges = 4
		for range exchanges {
			isLarge = append(isLarge, rapid.Bool().Draw(rt, "large"))
		}
		piece := func(node int, seq uint64) []byte {
			p := fmt.Appendf(nil, "%d/%d;", node, seq)
			if isLarge[seq-1] && node == int(seq)%n {
				p = append(bytes.Repeat([]byte{'x'}, TreeBytes), p...)
			}
			return p
		}
		over := func(node int) uint64 { return uint64(len(w.done[node]) + len(w.large[node])) }
		for {
			var ready []int
			for node := range n {
				if at[node] == over(node) && at[node] < exchanges {
					ready = append(ready, node)
				}
			}
			if len(ready)+len(w.wire) == 0 {
				break
			}
			if i := rapid.IntRange(0, len(ready)+len(w.wire)-1).Draw(rt, "next"); i < len(ready) {
				node := ready[i]
				at[node]++
				w.handle(node, w.nodes[node].Add(Op{Seq: at[node]}, piece(node, at[node])))
			} else {
				w.deliver(i - len(ready))
			}
		}
		number := uint64(0)
		for seq := uint64(1); seq <= exchanges; seq++ {
			if isLarge[seq-1] {
				number++
			}
			for node := range n {
				switch {
				case w.failed[node] != nil:
					rt.Fatalf("node %d: %v", node, w.failed[node])
				case isLarge[seq-1] && w.large[node][number] != string(piece(node, seq)):
					rt.Fatalf("node %d has exchange %d not for a large one", node, seq)
				case !isLarge[seq-1] && w.done[node][seq] != allPieces(n, seq):
					rt.Fatalf("node %d got %q of exchange %d", node, w.done[node][seq], seq)
				}
			}
		}
	})
}

// An empty fence takes few hops.
func TestSmallExchangeHops(t *testing.T) {
	for n, want := range map[int]int{1: 0, 2: 1, 3: 2, 4: 2, 5: 2, 9: 2, 10: 4, 73: 4} {
		w := newSmallExchanges(t, n, Auto)
		for node := range n {
			w.handle(node, w.nodes[node].Add(Op{Seq: 1}, nil))
		}
		_, hops := drain(&w.wire, w.deliver)
		if hops != want {
			t.Errorf("%d nodes: %d hops, want %d", n, hops, want)
		}
	}
}

// The algorithm that a user wants for data is for data alone.
func TestSmallExchangeLeavesDataToWhomTheUserWants(t *testing.T) {
	for by, want := range map[Algorithm]int{Auto: 0, TreeAlgorithm: 1, RingAlgorithm: 1, BruckAlgorithm: 1} {
		w := newSmallExchanges(t, 1, by)
		w.handle(0, w.nodes[0].Add(Op{Seq: 1}, make([]byte, 2*empty)))
		w.handle(0, w.nodes[0].Add(Op{Seq: 2}, make([]byte, empty)))
		if len(w.large[0]) != want || len(w.done[0]) != 2-want {
			t.Errorf("%v: %d large, %d done", by, len(w.large[0]), len(w.done[0]))
		}
	}
	if _, err := NewSmallExchange(2, 0, algorithms); !errors.Is(err, ErrAlgorithm) {
		t.Error(err)
	}
	if _, err := NewSmallExchange(2, 2, Auto); !errors.Is(err, ErrShape) {
		t.Error(err)
	}
}

// Whoever breaks the protocol, and whoever is lost, ends the exchanges, for good.
func TestSmallExchangeFails(t *testing.T) {
	word := announcer{small: empty}.announce([]byte("x"))
	for name, c := range map[string]struct {
		data [][]byte
		err  error
	}{
		"no size":         {[][]byte{{}}, ErrProtocol},
		"a lie":           {[][]byte{append(bytes.Clone(word), 'y')}, ErrProtocol},
		"data with large": {[][]byte{{0xff, 0xff, 0x7f, 1}}, ErrProtocol},
		"too many":        {[][]byte{word, word}, ErrProtocol},
		"too large":       {[][]byte{{0xff, 0xff, 0xff, 0xff, 0x7f}}, ErrProtocol},
		"together":        {[][]byte{{0x80, 0x80, 0x80, 0x80, 0x01}}, ErrTooLarge},
	} {
		w := newSmallExchanges(t, 2, Auto)
		w.handle(0, w.nodes[0].Add(Op{Seq: 1}, []byte("y")))
		w.handle(0, w.nodes[0].Receive(1, Message{Op: Op{Seq: 1}, Via: BruckAlgorithm, Data: c.data}))
		if !errors.Is(w.failed[0], c.err) {
			t.Errorf("%s: %v", name, w.failed[0])
		}
		w.failed[0] = nil
		if w.handle(0, w.nodes[0].Add(Op{Seq: 1}, nil)); !errors.Is(w.failed[0], c.err) {
			t.Errorf("%s, and then another exchange: %v", name, w.failed[0])
		}
		if more := w.nodes[0].Receive(1, Message{}); len(more) > 0 {
			t.Errorf("%s, and then another message: %v", name, more)
		}
	}
}
