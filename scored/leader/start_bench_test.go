package leader

import (
	"fmt"
	"score/scored/api/agentpb"
	"score/scored/api/scorev1"
	"score/scored/state"
	"score/scored/state/statepb"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
)

// startBench is a cluster with one large job.
type startBench struct {
	*controller
	testing.TB
	state   *state.State
	link    *benchLink
	encoded []byte
	bytes   int // of messages
	sent    map[string]int
}

func newStartBench(tb testing.TB, nodes, cpus int) *startBench {
	s := &startBench{TB: tb, state: state.New(), link: new(benchLink), sent: make(map[string]int)}
	s.controller = newController(configOf(1, s.state), s.state, 1)
	for i := range nodes {
		refusal := s.onHello(&agentpb.Hello{
			Cluster: "lab", Node: fmt.Sprint("n", i+1), Address: fmt.Sprintf("10.0.%d.%d:7421", i/256, i%256), Version: "v1",
			Cpus: uint32(cpus), MemoryBytes: 1 << 40, BootId: fmt.Sprint("boot", i),
		}, s.link)
		if refusal != "" {
			tb.Fatal(refusal)
		}
	}
	s.proceed()
	return s
}

// proceed does what the leader does after a batch of inputs: it decides, commits, and encodes
// messages.
func (s *startBench) proceed() {
	s.now++
	s.advance()
	for commands, _ := s.takeCommands(maxEntry); len(commands) > 0; commands, _ = s.takeCommands(maxEntry) {
		entry := &statepb.Entry{Term: 1, TimeNanos: s.now, Commands: commands}
		s.encoded, _ = proto.MarshalOptions{}.MarshalAppend(s.encoded[:0], entry)
		if err := s.state.Apply(entry); err != nil {
			s.Fatal(err)
		}
	}
	for _, e := range s.due(s.decided) {
		switch {
		case e.message != nil:
			s.encoded, _ = proto.MarshalOptions{}.MarshalAppend(s.encoded[:0], e.message)
			s.bytes += len(s.encoded)
			s.sent[fmt.Sprintf("%T", e.message.GetMessage())]++
		case e.call != nil:
			e.call(nil)
		}
	}
}

// deliver delivers a message from every node, in batches.
func (s *startBench) deliver(nodes int, say func(node int) *agentpb.AgentMessage) {
	for i := range nodes {
		s.onMessage(fmt.Sprint("n", i+1), s.link, say(i))
		if (i+1)%maxBatch == 0 || i+1 == nodes {
			s.proceed()
		}
	}
}

// BenchmarkStart measures the leader's cost of the start and the end of one job on all nodes.
// Package tests/bench reads the names of its cases.
func BenchmarkStart(b *testing.B) {
	for _, size := range []struct{ nodes, each int }{{64, 100}, {1000, 100}, {4000, 64}} {
		b.Run(fmt.Sprintf("nodes=%d/ranks=%d", size.nodes, size.nodes*size.each), func(b *testing.B) {
			s := newStartBench(b, size.nodes, size.each)
			spent := make(map[string]time.Duration)
			phase := func(name string, do func()) {
				began := time.Now()
				do()
				spent[name] += time.Since(began)
			}
			id := uint64(0)
			for b.Loop() {
				spec := &scorev1.JobSpec{
					Argv: []string{"./a.out"}, WorkDir: "/home/ann", Tasks: uint32(size.nodes * size.each), Detached: true,
					Env: []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/home/ann"},
				}
				s.sent, s.bytes = make(map[string]int), 0
				id = s.nextJob
				phase("placed-ms", func() {
					s.submit(spec, &scorev1.Identity{Uid: 4001, User: "ann"}, Caller{UID: 4001}, func(uint64, error) {})
					s.proceed()
				})
				orders := s.bytes
				phase("prepared-ms", func() {
					s.deliver(size.nodes, func(int) *agentpb.AgentMessage {
						return &agentpb.AgentMessage{Message: &agentpb.AgentMessage_Prepared{Prepared: &agentpb.Prepared{JobId: id}}}
					})
				})
				phase("launched-ms", func() {
					s.deliver(size.nodes, func(int) *agentpb.AgentMessage {
						return &agentpb.AgentMessage{Message: &agentpb.AgentMessage_Launched{Launched: &agentpb.Launched{JobId: id, AtNanos: 1}}}
					})
				})
				phase("exited-ms", func() {
					s.deliver(size.nodes, func(node int) *agentpb.AgentMessage {
						exits := &agentpb.RanksExited{}
						for _, rank := range s.jobs[id].part(fmt.Sprint("n", node+1)).Ranks {
							exits.Exits = append(exits.Exits, &agentpb.RankExited{JobId: id, Rank: rank})
						}
						return &agentpb.AgentMessage{Message: &agentpb.AgentMessage_RanksExited{RanksExited: exits}}
					})
				})
				phase("done-ms", func() {
					s.deliver(size.nodes, func(int) *agentpb.AgentMessage {
						return &agentpb.AgentMessage{Message: &agentpb.AgentMessage_NodeDone{NodeDone: &agentpb.NodeDone{JobId: id}}}
					})
				})
				if s.jobs[id] != nil || s.sent["*agentpb.ServerMessage_Prepare"] != size.nodes || s.sent["*agentpb.ServerMessage_Plan"] < size.nodes {
					b.Fatalf("job %d did not run on all nodes: %v", id, s.sent)
				}
				b.ReportMetric(float64(orders)/float64(size.nodes), "order-B/node")
			}
			for name, d := range spent {
				b.ReportMetric(float64(d.Microseconds())/1e3/float64(b.N), name)
			}
		})
	}
}

// An order contains all places of a job, so the bytes sent grow with the square of the number of
// nodes: each order must be short.
func TestOrdersOfLargeJobsAreShort(t *testing.T) {
	const nodes, each = 1000, 100
	s := newStartBench(t, nodes, each)
	s.bytes = 0
	s.submit(
		&scorev1.JobSpec{Argv: []string{"a"}, WorkDir: "/", Tasks: nodes * each, Detached: true},
		&scorev1.Identity{Uid: 1},
		Caller{UID: 1},
		func(_ uint64, err error) {
			if err != nil {
				t.Error(err)
			}
		},
	)
	s.proceed()
	if maxBytes := nodes * 25_000; s.sent["*agentpb.ServerMessage_Prepare"] != nodes || s.bytes > maxBytes {
		t.Errorf("%v, %d bytes; at most %d", s.sent, s.bytes, maxBytes)
	}
}
