package exchange

import (
	"container/heap"
	"errors"
	"fmt"
	"math/rand/v2"
	"score/nodeagent/fence"
	"time"
)

// Costs are what a message costs.
type Costs struct {
	// Way is from the sending of a small message to its being taken at the other node.
	Way time.Duration
	// Message is how long a node is busy with one, at each end, beside the time for its bytes.
	Message time.Duration
	// PerMiB is how long a node is busy with the bytes of one, at each end.
	PerMiB time.Duration
}

func (c *Costs) busy(bytes int) time.Duration {
	return c.Message + time.Duration(float64(c.PerMiB)*float64(bytes)/(1<<20))
}

// Config is one exchange.
type Config struct {
	Nodes int
	By    fence.Algorithm
	// Pieces are what the nodes give; with fewer than nodes they are used in turn.
	Pieces [][]byte
	Costs  Costs
	// Spread is the time within which the nodes add their pieces.
	Spread time.Duration
	// Lossy is the share of messages that have to be sent again, after Again; as many come twice.
	Lossy float64
	Again time.Duration
	// Dies is a node that is lost at an instant; the others know after Hear at most. 0: none.
	Dies   int
	DiesAt time.Duration
	Hear   time.Duration
	Seed   uint64
}

// Result is how it went.
type Result struct {
	// Took is from the last node's piece to the last node's having all pieces.
	Took time.Duration
	// Messages and Bytes count for all nodes together, BusiestBytes what the busiest node has sent
	// and received.
	Messages, Bytes, BusiestBytes int
	// Failed are the reasons of nodes that did not get all.
	Failed map[int]error
}

// framing is what a message takes beside its pieces, and each of these: what the RPC between agents
// says of them.
const (
	framingMessage = 160
	framingPiece   = 4
)

// ErrStuck means that an exchange does not end.
var ErrStuck = errors.New("an exchange that does not end")

// event is something that happens to a node.
type event struct {
	at    time.Duration
	order int // of two at the same instant, the one that was caused first
	node  int
	do    func()
}

type queue []event

func (q queue) Len() int { return len(q) }
func (q queue) Less(i, j int) bool {
	return q[i].at < q[j].at || q[i].at == q[j].at && q[i].order < q[j].order
}
func (q queue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *queue) Push(x any)   { *q = append(*q, x.(event)) }
func (q *queue) Pop() any {
	last := len(*q) - 1
	e := (*q)[last]
	(*q)[last] = event{}
	*q = (*q)[:last]
	return e
}

// world is the nodes and what is between them.
type world struct {
	config   *Config
	random   *rand.Rand
	now      time.Duration
	events   queue
	caused   int
	nodes    []fence.Collective
	free     []time.Duration // when a node has time for the next message
	traffic  []int
	finished int
	result   Result
}

// op is the exchange that is modelled.
var op = fence.Op{Kind: fence.KindFence, Seq: 1}

// Run models an exchange until it is over on every node.
func Run(c Config) (*Result, error) {
	w := &world{
		config: &c, random: rand.New(rand.NewPCG(c.Seed, 1)),
		free: make([]time.Duration, c.Nodes), traffic: make([]int, c.Nodes),
		result: Result{Failed: make(map[int]error)},
	}
	for self := range c.Nodes {
		node, err := fence.New(c.Nodes, self, c.By)
		if err != nil {
			return nil, err
		}
		w.nodes = append(w.nodes, node)
		at := time.Duration(0)
		if c.Spread > 0 {
			at = time.Duration(w.random.Int64N(int64(c.Spread)))
		}
		w.happen(at, self, func() { w.carryOut(self, node.Add(op, c.Pieces[self%len(c.Pieces)])) })
	}
	if c.DiesAt > 0 {
		w.dies()
	}
	for len(w.events) > 0 {
		e := heap.Pop(&w.events).(event)
		w.now = e.at
		if !w.dead(e.node) {
			e.do()
		}
	}
	if w.finished+len(w.result.Failed) < w.living() {
		return nil, fmt.Errorf("%w: %d of %d nodes have all", ErrStuck, w.finished, c.Nodes)
	}
	w.result.Took -= c.Spread
	for _, bytes := range w.traffic {
		w.result.BusiestBytes = max(w.result.BusiestBytes, bytes)
	}
	return &w.result, nil
}

func (w *world) happen(at time.Duration, node int, do func()) {
	w.caused++
	heap.Push(&w.events, event{at, w.caused, node, do})
}

func (w *world) dead(node int) bool {
	return w.config.DiesAt > 0 && node == w.config.Dies && w.now >= w.config.DiesAt
}

func (w *world) living() int {
	if w.config.DiesAt > 0 {
		return w.config.Nodes - 1
	}
	return w.config.Nodes
}

// dies reports a node's death to the others, to each in its time.
func (w *world) dies() {
	for node := range w.nodes {
		if node == w.config.Dies {
			continue
		}
		at := w.config.DiesAt + time.Duration(w.random.Int64N(int64(w.config.Hear)+1))
		w.happen(at, node, func() { w.carryOut(node, w.nodes[node].Lost(w.config.Dies, "it does not answer")) })
	}
}

// carryOut does what a node's machine says.
func (w *world) carryOut(node int, effects []fence.Effect) {
	for _, e := range effects {
		switch e.Kind {
		case fence.Send:
			w.send(node, e.To, e.Message)
		case fence.Done:
			if len(e.Message.Data) == w.config.Nodes {
				w.finished++
				w.result.Took = max(w.result.Took, w.now)
			}
		case fence.Failed:
			w.result.Failed[node] = e.Err
		case fence.Large: // of a SmallExchange alone, which this world has none of
		}
	}
}

// send lets a message leave when its sender has time, and arrive when its receiver has.
func (w *world) send(from, to int, m fence.Message) {
	size := framingMessage + framingPiece*len(m.Data)
	for _, piece := range m.Data {
		size += len(piece)
	}
	w.result.Messages++
	w.result.Bytes += size
	w.traffic[from] += size
	w.traffic[to] += size
	busy := w.config.Costs.busy(size)
	w.free[from] = max(w.free[from], w.now) + busy
	way := w.config.Costs.Way - 2*w.config.Costs.Message
	arrive := w.free[from] + max(0, way)
	times := 1
	switch x := w.random.Float64(); {
	case x < w.config.Lossy:
		arrive += w.config.Again
	case x < 2*w.config.Lossy:
		times++
	}
	for i := range times {
		w.happen(arrive+time.Duration(i)*w.config.Again, to, func() {
			w.free[to] = max(w.free[to], w.now) + busy
			w.happen(w.free[to], to, func() { w.carryOut(to, w.nodes[to].Receive(from, m)) })
		})
	}
}
