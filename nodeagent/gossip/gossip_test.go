package gossip

import (
	"container/heap"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// message is on its way.
type message struct {
	at       time.Duration
	from, to int
	item     Item
}

type messages []message

func (q messages) Len() int           { return len(q) }
func (q messages) Less(i, j int) bool { return q[i].at < q[j].at }
func (q messages) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }
func (q *messages) Push(x any)        { *q = append(*q, x.(message)) }
func (q *messages) Pop() any {
	last := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return last
}

const (
	nodes = 64
	// reachBound is within what time all nodes of 64 have the failure.
	reachBound = 100 * time.Millisecond
	// What a message takes: a call between agents, on a machine that has other
	// work (5 ms), and what its sender needs for each before it (0.1 ms).
	latest  = 5 * time.Millisecond
	sending = 100 * time.Microsecond
)

// spread lets one node find a failure, and gives when each node heard of it; 0: never.
// Luck is of a seed: what rapid draws is no accident, and would lose just the messages that count.
func spread(t *rapid.T, finder int, dead map[int]bool, loss int) (heard [nodes]time.Duration, sent int) {
	luck := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
	var machines [nodes]*Machine
	for i := range machines {
		m, err := New(nodes, i)
		if err != nil {
			t.Fatal(err)
		}
		machines[i] = m
	}
	var q messages
	delivered := make(map[int]int)
	carry := func(now time.Duration, self int, effects []Effect) {
		for i, e := range effects {
			if e.Deliver {
				delivered[self]++
				heard[self] = now
				continue
			}
			sent++
			if luck.IntN(100) < loss {
				continue
			}
			delay := time.Duration(luck.Int64N(latest.Nanoseconds()))
			heap.Push(&q, message{now + delay + time.Duration(i)*sending, self, e.To, e.Item})
		}
	}
	victim := -1
	for v := range dead {
		victim = max(victim, v)
	}
	item := Item{Kind: PartLost, Node: victim, Reason: "it is dead"}
	carry(time.Nanosecond, finder, machines[finder].Learn(item))
	for q.Len() > 0 {
		m := heap.Pop(&q).(message)
		if !dead[m.to] {
			carry(m.at, m.to, machines[m.to].Receive(m.from, m.item))
		}
	}
	for node, times := range delivered {
		if times != 1 {
			t.Fatalf("node %d was told %d times", node, times)
		}
	}
	return heard, sent
}

// Every node that lives hears of a failure within 100 ms, though up to ten other
// nodes are dead and one message in ten is lost.
func TestAllHearInTime(t *testing.T) {
	var worst time.Duration
	rapid.Check(t, func(t *rapid.T) {
		dead := make(map[int]bool)
		for range rapid.IntRange(1, 10).Draw(t, "dead") {
			dead[rapid.IntRange(0, nodes-1).Draw(t, "who")] = true
		}
		finder := rapid.IntRange(0, nodes-1).Filter(func(n int) bool { return !dead[n] }).Draw(t, "finder")
		loss := rapid.SampledFrom([]int{0, 0, 5, 10}).Draw(t, "lost, percent")
		heard, _ := spread(t, finder, dead, loss)
		for node, at := range heard {
			switch {
			case dead[node]:
			case at == 0:
				t.Fatalf("node %d never hears of it", node)
			case at > reachBound:
				t.Fatalf("node %d hears of it after %v", node, at)
			}
			worst = max(worst, at)
		}
	})
	t.Logf("the last of %d nodes heard of it after %v", nodes, worst)
}

// What it costs: each node tells its eleven neighbours once.
func TestMessages(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		if _, sent := spread(t, 0, map[int]bool{63: true}, 0); sent > nodes*11 {
			t.Fatalf("%d messages", sent)
		}
	})
}

func TestNonsenseIsDropped(t *testing.T) {
	if _, err := New(4, 4); !errors.Is(err, ErrShape) {
		t.Error(err)
	}
	m, err := New(4, 1)
	if err != nil {
		t.Fatal(err)
	}
	for name, e := range map[string][]Effect{
		"from nobody":      m.Receive(4, Item{Kind: PartLost, Node: 2}),
		"of nobody":        m.Receive(0, Item{Kind: PartLost, Node: -1}),
		"of no kind":       m.Receive(0, Item{Kind: 9, Node: 2}),
		"a part of a rank": m.Receive(0, Item{Kind: PartLost, Node: 2, Rank: 3}),
		"a long story":     m.Receive(0, Item{Kind: PartLost, Node: 2, Reason: strings.Repeat("x", MaxReason+1)}),
	} {
		if len(e) != 0 {
			t.Errorf("%s: %v", name, e)
		}
	}
	for i := range uint32(MaxItems + 10) {
		m.Receive(0, Item{Kind: RankFailed, Node: 2, Rank: i})
	}
	if len(m.known) != MaxItems {
		t.Errorf("%d items are kept", len(m.known))
	}
	if e := m.Learn(Item{Kind: PartLost, Node: 1}); len(e) != 0 { // full
		t.Errorf("%v", e)
	}
}

func FuzzReceive(f *testing.F) {
	f.Add(0, uint8(1), 2, uint32(0), "gone")
	f.Add(3, uint8(2), 1, uint32(7), "failed")
	f.Fuzz(func(t *testing.T, from int, kind uint8, node int, rank uint32, reason string) {
		m, err := New(5, 1)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range m.Receive(from, Item{Kind(kind), node, rank, reason, 0, 0}) {
			if !e.Deliver && (e.To < 0 || e.To >= 5 || e.To == 1 || e.To == from) {
				t.Errorf("sends to %d", e.To)
			}
		}
		if e := m.Receive(from, Item{Kind(kind), node, rank, reason, 0, 0}); len(e) != 0 {
			t.Errorf("twice: %v", e)
		}
	})
}
