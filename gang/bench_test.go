package gang

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// fullCluster has 1,000 nodes of 64 CPUs with all rows well filled and 10,000 jobs of many shapes
// waiting.
func fullCluster(tb testing.TB, limits bool) *Machine {
	tb.Helper()
	m := newMachine(tb, Config{}, manyNodes(1000)...)
	rng := rand.New(rand.NewPCG(1, 2))
	id := JobID(0)
	for {
		id++
		if err := m.Submit(anyRequest(rng, id, limits)); err != nil {
			tb.Fatal(err)
		}
		if id%256 == 0 {
			m.Schedule(int64(id))
		}
		if m.Waiting() >= 10_000 {
			return m
		}
	}
}

func manyNodes(n int) []Node {
	nodes := make([]Node, n)
	for i := range nodes {
		nodes[i] = Node{ID: NodeID(fmt.Sprint("n", i+1)), CPUs: 64, Memory: 256 << 30, Channels: 64}
	}
	return nodes
}

func anyRequest(rng *rand.Rand, id JobID, limits bool) Request {
	r := Request{
		ID:         id,
		Tasks:      1 << rng.IntN(12),
		MemPerNode: int64(1+rng.IntN(40)) << 30,
		Priority:   rng.IntN(400),
		Exclusive:  rng.IntN(100) == 0,
		Channels:   rng.IntN(2),
		Submitted:  int64(id),
	}
	r.Tasks = max(1, r.Tasks-rng.IntN(r.Tasks))
	if rng.IntN(2) == 0 {
		r.Nodes = 1 + rng.IntN(min(r.Tasks, 64))
		r.Tasks = min(r.Tasks, r.Nodes*64)
	}
	if limits {
		r.TimeLimit = time.Duration(1+rng.IntN(1000)) * time.Minute
	}
	return r
}

// BenchmarkSchedule10k1000 is a pass that looks at every waiting job: one job ends, and whatever
// fits in its place starts. The target is 50 ms.
func BenchmarkSchedule10k1000(b *testing.B) {
	for _, limits := range []bool{true, false} {
		b.Run(fmt.Sprintf("limits=%v", limits), func(b *testing.B) {
			m := fullCluster(b, limits)
			b.ReportMetric(float64(m.Running()), "running")
			b.ReportAllocs()
			rng := rand.New(rand.NewPCG(3, 4))
			now, next := int64(time.Second), JobID(1<<32)
			for b.Loop() {
				b.StopTimer()
				now += int64(time.Second)
				for m.Waiting() < 10_000 {
					next++
					r := anyRequest(rng, next, limits)
					r.Submitted = now
					_ = m.Submit(r)
				}
				m.Remove(m.gangs[rng.IntN(len(m.gangs))].id)
				b.StartTimer()
				m.Schedule(now)
			}
		})
	}
}

// BenchmarkSubmit10k1000 is a pass for one new job behind 10,000 waiting ones.
func BenchmarkSubmit10k1000(b *testing.B) {
	m := fullCluster(b, true)
	b.ReportAllocs()
	now, next := int64(time.Second), JobID(1<<32)
	for b.Loop() {
		next++
		_ = m.Submit(Request{ID: next, Tasks: 64, Submitted: now})
		m.Schedule(now)
		b.StopTimer()
		m.Remove(next)
		m.Schedule(now)
		b.StartTimer()
	}
}

// BenchmarkScheduleNothing is a pass without an event since the last one.
func BenchmarkScheduleNothing(b *testing.B) {
	m := fullCluster(b, true)
	m.Schedule(int64(time.Second))
	b.ReportAllocs()
	for b.Loop() {
		m.Schedule(int64(time.Second))
	}
}

// BenchmarkScheduleEmpty places one job on an idle cluster of two nodes: what every scrun
// pays.
func BenchmarkScheduleEmpty(b *testing.B) {
	m := newMachine(b, Config{}, manyNodes(2)...)
	b.ReportAllocs()
	for b.Loop() {
		_ = m.Submit(Request{ID: 1, Tasks: 16})
		m.Schedule(0)
		m.Remove(1)
	}
}
