package fence

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// envelope is a message on its way.
type envelope struct {
	from, to int
	message  Message
}

// maker makes the exchange that one node of a job sees.
type maker func(nodes, self int) (Collective, error)

func makeTree(nodes, self int) (Collective, error)  { return NewTree(nodes, self) }
func makeRing(nodes, self int) (Collective, error)  { return newRing(nodes, self) }
func makeBruck(nodes, self int) (Collective, error) { return newBruck(nodes, self) }

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

func (w *network) allDone(rounds uint64) bool {
	for _, done := range w.done {
		if uint64(len(done)) < rounds {
			return false
		}
	}
	return true
}
