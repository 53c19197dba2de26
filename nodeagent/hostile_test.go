package nodeagent_test

import (
	"fmt"
	"score/nodeagent"
	"score/nodeagent/fence"
	"score/scored/api/agentpb"
	"score/scored/api/agentpb/agentpbconnect"
	"score/scored/api/scorev1"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
)

// Whoever has the cluster key may still be broken: what it sends ends the job
// that it speaks of, at worst.
func TestNonsenseFromAPeerEndsItsJobOnly(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for seconds; run without -short")
	}
	const tree, bruck = uint32(fence.TreeAlgorithm), uint32(fence.BruckAlgorithm)
	program := compileHello(t)
	for _, test := range []struct {
		name     string
		nonsense *agentpb.CollectRequest
		harmless bool // it is refused, or what the peer really says replaces it
	}{
		{"unknown kind", &agentpb.CollectRequest{Algorithm: tree, Kind: 7, Sequence: 1, FromNodeIndex: 1}, false},
		{"kind beyond", &agentpb.CollectRequest{Algorithm: tree, Kind: 1 << 20, Sequence: 1, FromNodeIndex: 1}, true},
		{"no such algorithm", &agentpb.CollectRequest{Algorithm: 9, Sequence: 1, FromNodeIndex: 1}, false},
		{"algorithm beyond", &agentpb.CollectRequest{Algorithm: 1 << 20, Sequence: 1, FromNodeIndex: 1}, true},
		{"no such round", &agentpb.CollectRequest{Algorithm: bruck, Step: 1, Sequence: 1, FromNodeIndex: 1}, false},
		{"no such node", &agentpb.CollectRequest{Algorithm: tree, Sequence: 1, FromNodeIndex: 1 << 31}, true},
		{"from itself", &agentpb.CollectRequest{Algorithm: tree, Sequence: 1, FromNodeIndex: 0}, true},
		{"down to the root", &agentpb.CollectRequest{Algorithm: tree, Sequence: 1, FromNodeIndex: 1, Step: uint32(fence.Down)}, false},
		{"data of no format", &agentpb.CollectRequest{Algorithm: tree, Sequence: 1, FromNodeIndex: 1, Data: [][]byte{[]byte("\xff nonsense")}}, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := startPair(t, func(*nodeagent.Options) {})
			mustPrepare(t, p.sessions[0], p.nodes[0].order(2, "sleep", "1000")) // another job
			p.byAgents = true
			p.prepare(t, 1, program)
			test.nonsense.JobId = 1
			_, err := p.nodes[0].asAgent(p.sessions[0], p.sessions[1].Hello.GetNode()).Collect(t.Context(), connect.NewRequest(test.nonsense))
			if err != nil && connect.CodeOf(err) != connect.CodeFailedPrecondition {
				t.Errorf("Collect = %v", err)
			}
			for _, s := range p.sessions {
				s.Send(planMessage(1, 1, time.Second, []uint64{1, 2}))
			}
			s := p.sessions[0]
			if !test.harmless {
				abort := s.Until(t, "abort", func(m *agentpb.AgentMessage) bool { return m.GetAbort() != nil }).GetAbort()
				if abort.GetJobId() != 1 || abort.GetExitCode() != 125 || abort.GetMessage() == "" {
					t.Errorf("abort: %v", abort)
				}
			}
			done(t, s, 1)
			launched(t, s, 2)
			for _, m := range s.Passed() {
				if m.GetNodeDone().GetJobId() == 2 {
					t.Error("another job was ended")
				}
			}
		})
	}
}

func TestPlansOfNonsenseAreIgnored(t *testing.T) {
	leader := startLeader(t)
	n := startNode(t, leader)
	s := leader.Next(t)
	clocked(t, s)
	mustRun(t, s, n.order(1, "sleep", "1000"))
	for version, plan := range []*agentpb.Plan{
		nil,
		{Rows: []*agentpb.Plan_Row{nil}},
		{Rows: []*agentpb.Plan_Row{{SliceNanos: -1, Jobs: []uint64{1}}}},
		{Rows: []*agentpb.Plan_Row{{SliceNanos: 1, Jobs: []uint64{1}}}},
		{OriginNanos: -1 << 63, Rows: []*agentpb.Plan_Row{{SliceNanos: 1e9}}},
		{OriginNanos: 1<<63 - 1, Rows: []*agentpb.Plan_Row{{SliceNanos: 1<<63 - 1}}},
		{Rows: make([]*agentpb.Plan_Row, 10_000)},
	} {
		if plan != nil {
			plan.Term, plan.Version = 1, uint64(version)+2
		}
		s.Send(&agentpb.ServerMessage{Message: &agentpb.ServerMessage_Plan{Plan: plan}})
	}
	s.Send(&agentpb.ServerMessage{})
	s.Send(signalMessage(1, -5))
	s.Send(signalMessage(1, 1<<30))
	states := rankStates(t, s, 1, 1)
	if !states.GetGangOn() || states.GetRanks()[0].GetState() != "running" {
		t.Errorf("states: %v", states)
	}
}

func TestForeignAddressIsNotCalled(t *testing.T) {
	program := compileHello(t)
	for _, byAgents := range []bool{false, true} {
		t.Run(fmt.Sprintf("by agents %v", byAgents), func(t *testing.T) { foreignAddressIsNotCalled(t, program, byAgents) })
	}
}

func foreignAddressIsNotCalled(t *testing.T, program string, byAgents bool) {
	leader := startLeader(t)
	n := startNode(t, leader, func(o *nodeagent.Options) { o.Name = "n2" })
	s := leader.Next(t)
	clocked(t, s)
	order := n.order(1, program)
	order.Spec.Tasks, order.NodeIndex, order.FencesByMessage = 2, 1, !byAgents
	order.Places = []*scorev1.NodePlace{
		{Node: "n1", Address: "192.0.2.1:7", Ranks: []uint32{0}, Cpus: []uint32{0}},
		{Node: "n2", Ranks: []uint32{1}, Cpus: []uint32{0}},
	}
	mustPrepare(t, s, order)
	s.Send(planMessage(1, 1, time.Second, []uint64{1}))
	abort := s.Until(t, "abort", func(m *agentpb.AgentMessage) bool { return m.GetAbort() != nil }).GetAbort()
	if !strings.Contains(abort.GetMessage(), "other hosts") {
		t.Errorf("abort: %v", abort)
	}
	done(t, s, 1)
}

// An agent speaks for its own node alone: what it says for others, or of jobs that are not on its
// node, is refused.
func TestAnAgentSpeaksForItsNode(t *testing.T) {
	p := startPair(t, func(*nodeagent.Options) {})
	p.prepare(t, 1, compileHello(t))
	for name, ask := range map[string]func(calls agentpbconnect.PeerServiceClient) error{
		"a collective": func(calls agentpbconnect.PeerServiceClient) error {
			_, err := calls.Collect(t.Context(), connect.NewRequest(&agentpb.CollectRequest{JobId: 1, FromNodeIndex: 1, Again: true}))
			return err
		},
		"a failure": func(calls agentpbconnect.PeerServiceClient) error {
			_, err := calls.Gossip(t.Context(), connect.NewRequest(&agentpb.GossipRequest{JobId: 1, FromNodeIndex: 1}))
			return err
		},
		"a message": func(calls agentpbconnect.PeerServiceClient) error {
			_, err := calls.Relay(t.Context(), connect.NewRequest(&agentpb.RelayRequest{JobId: 1, FromJob: 1, FromNodeIndex: 1}))
			return err
		},
		"files": func(calls agentpbconnect.PeerServiceClient) error {
			stream, err := calls.FetchStaged(t.Context(), connect.NewRequest(&agentpb.FetchStagedRequest{JobId: 1}))
			if err != nil {
				return err
			}
			defer stream.Close()
			stream.Receive()
			return stream.Err()
		},
	} {
		t.Run(name, func(t *testing.T) {
			for node, refused := range map[string]bool{"stranger": true, p.sessions[1].Hello.GetNode(): false} {
				err := ask(p.nodes[0].asAgent(p.sessions[0], node))
				denied := err != nil &&
					(strings.Contains(err.Error(), "is not the agent of part") || strings.Contains(err.Error(), "is not known here as a node of job"))
				if denied != refused {
					t.Errorf("agent %s: %v", node, err)
				}
			}
		})
	}
}
