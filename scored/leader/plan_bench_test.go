package leader

import (
	"fmt"
	"score/gang"
	"score/scored/api/agentpb"
	"score/scored/api/scorev1"
	"score/scored/state"
	"testing"

	"google.golang.org/protobuf/proto"
)

// benchLink counts messages and drops them.
type benchLink struct{ sent int }

func (l *benchLink) Send(*agentpb.ServerMessage) { l.sent++ }
func (l *benchLink) Close(string)                {}

// benchController returns a controller with so many nodes of one CPU, and running gangs of so many
// nodes that fill so many rows. Nodes are added to its tables directly, since the log holds at most
// state.MaxNodes.
func benchController(tb testing.TB, nodes, size, rows int) *controller {
	tb.Helper()
	log := state.New()
	c := newController(configOf(1, log), log, 1)
	for i := range nodes {
		n := &node{name: fmt.Sprint("n", i+1), cpus: 1, memory: 1 << 40, link: new(benchLink), inMatrix: true}
		c.nodes[n.name] = n
		if err := c.gang.AddNode(n.column()); err != nil {
			tb.Fatal(err)
		}
	}
	for id := range uint64(rows * nodes / size) {
		request := gang.Request{ID: gang.JobID(id + 1), Tasks: size, Nodes: size, Submitted: int64(id)}
		if err := c.gang.Submit(request); err != nil {
			tb.Fatal(err)
		}
	}
	for _, a := range c.gang.Schedule(1).Start {
		j := &job{id: uint64(a.Job), attempt: attempt{state: running, row: a.Row, founder: a.Gang}, spec: &scorev1.JobSpec{Tasks: uint32(size)}}
		for _, p := range placesOf(a) {
			j.parts = append(j.parts, &part{Place: c.placeOn(p)})
		}
		c.jobs[j.id] = j
	}
	if got := c.gang.Running(); got != rows*nodes/size {
		tb.Fatalf("%d gangs run, want %d", got, rows*nodes/size)
	}
	return c
}

// BenchmarkPlan measures the leader's cost of a new rotation plan: making it, and making and
// encoding a message for each node. Package tests/scale reads the names of its cases.
func BenchmarkPlan(b *testing.B) {
	for _, nodes := range []int{64, 1000, 10_000} {
		for _, mix := range []struct {
			name       string
			size, rows int
		}{{"whole", nodes, 2}, {"small", 8, 4}} {
			b.Run(fmt.Sprintf("nodes=%d/mix=%s", nodes, mix.name), func(b *testing.B) {
				controller := benchController(b, nodes, mix.size, mix.rows)
				var encoded []byte
				for b.Loop() {
					controller.now += 1e9
					controller.rotation = gang.Rotation{Term: 1, Version: controller.rotation.Version}
					controller.replan()
					for _, e := range controller.effects {
						encoded, _ = proto.MarshalOptions{}.MarshalAppend(encoded[:0], e.message)
					}
					if len(controller.effects) != nodes {
						b.Fatalf("%d nodes got the plan, want %d", len(controller.effects), nodes)
					}
					controller.effects = controller.effects[:0]
				}
			})
		}
	}
}
