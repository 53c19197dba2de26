package rpc

import (
	"score/ctxswitch"
	"score/scored/api"
	"score/scored/api/agentpb"
	"score/scored/api/identity/pki"
	"score/scored/api/scorev1"
	"score/scored/hosttime"
	"score/tests/await"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
)

func TestPongCarriesTheClustersTime(t *testing.T) {
	c := newCluster(t)
	a := c.join("n1", nil)
	a.send(&agentpb.AgentMessage{Message: &agentpb.AgentMessage_Ping{Ping: &agentpb.Ping{Sequence: 5, AgentNanos: 77, OffsetNanos: 3}}})
	pong := a.until("Pong", func(m *agentpb.ServerMessage) bool { return m.GetPong() != nil }).GetPong()
	now, term := c.leader.Now()
	if pong.GetSequence() != 5 || pong.GetAgentNanos() != 77 || pong.GetTerm() != term {
		t.Errorf("pong %v", pong)
	}
	if d := time.Duration(now - pong.GetClusterNanos()); d < 0 || d > patience {
		t.Errorf("the pong is %v old", d)
	}
	if d := time.Duration(pong.GetClusterNanos() - pong.GetArrivedNanos()); d < 0 || d > patience {
		t.Errorf("the pong left %v after the ping had arrived", d)
	}
	if pong.GetHost() != hosttime.Host() || pong.GetBeforeNanos() > pong.GetAfterNanos() || pong.GetAfterNanos() > hosttime.Now() {
		t.Errorf("the pong's clock of this host: %v", pong)
	}
}

func TestStrangersAreRefused(t *testing.T) {
	c := newCluster(t)
	tests := []struct {
		name  string
		first *agentpb.AgentMessage
		code  connect.Code
		text  string
	}{
		{
			"no hello",
			&agentpb.AgentMessage{Message: &agentpb.AgentMessage_Ping{Ping: &agentpb.Ping{}}},
			connect.CodeInvalidArgument,
			"the first message must say who the agent is",
		},
		{"nothing", &agentpb.AgentMessage{}, connect.CodeInvalidArgument, "the first message must say who the agent is"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			a, cancel := c.open(testKey, "n1")
			defer cancel()
			a.send(test.first)
			_, err := a.stream.Receive()
			if connect.CodeOf(err) != test.code || !strings.Contains(err.Error(), test.text) {
				t.Errorf("error %v", err)
			}
		})
	}
	if n := c.refused.Load(); n != int64(len(tests)) {
		t.Errorf("%d refusals counted", n)
	}
	for _, key := range []string{"guess", "", testKey + " "} {
		a, cancel := c.open(key, "n1")
		a.send(tests[0].first)
		if _, err := a.stream.Receive(); pki.FaultOf(err) != pki.FaultForeign {
			t.Errorf("key %q: error %v", key, err)
		}
		cancel()
	}
	a, cancel := c.open(testKey, "n1")
	defer cancel()
	a.send(&agentpb.AgentMessage{Message: &agentpb.AgentMessage_Hello{Hello: &agentpb.Hello{Cluster: "lab", Node: "n2"}}})
	if _, err := a.stream.Receive(); connect.CodeOf(err) != connect.CodePermissionDenied {
		t.Errorf("a certificate for another node: %v", err)
	}
}

func TestRefusedAgentIsToldWhyAndNotToComeAgain(t *testing.T) {
	c := newCluster(t)
	first := c.join("n1", nil)
	tests := []struct {
		name   string
		change func(*agentpb.Hello)
		want   string
	}{
		{
			"later protocols",
			func(h *agentpb.Hello) { h.Node, h.ProtocolOldest, h.ProtocolNewest = "n2", 98, 99 },
			"the server is too old: its version v1 understands",
		},
		{"taken name", func(h *agentpb.Hello) { h.BootId = "other" }, "a node named n1 is connected already"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			h := first.hello()
			test.change(h)
			a, cancel := c.open(testKey, h.GetNode())
			defer cancel()
			a.send(&agentpb.AgentMessage{Message: &agentpb.AgentMessage_Hello{Hello: h}})
			m, err := a.stream.Receive()
			if err != nil || !strings.Contains(m.GetRefused(), test.want) {
				t.Fatalf("%v, %v", m, err)
			}
			if _, err := a.stream.Receive(); err == nil {
				t.Error("the stream goes on")
			}
		})
	}
	list, err := c.leader.Nodes(t.Context())
	nodes := list.GetNodes()
	if err != nil || len(nodes) != 1 || !nodes[0].GetUp() {
		t.Errorf("nodes %v, %v", nodes, err)
	}
}

func TestNodeIsDownWhenItsStreamEnds(t *testing.T) {
	c := newCluster(t)
	a := c.join("n1", nil)
	a.leave()
	await.That(t, "the node is down", func() bool {
		list, err := c.leader.Nodes(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return !list.GetNodes()[0].GetUp()
	})
	again := c.join("n1", nil)
	if again == a {
		t.Fatal("the same agent")
	}
}

func TestSwitchReportsReachTheMetrics(t *testing.T) {
	c := newCluster(t)
	a := c.join("n1", nil)
	var measured ctxswitch.Measures
	measured[ctxswitch.MeasureGo].Record(time.Millisecond)
	steps := &agentpb.SwitchReport_Steps{}
	for i := range measured {
		data, err := measured[i].MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		steps.Histograms = append(steps.Histograms, data)
	}
	a.send(&agentpb.AgentMessage{Message: &agentpb.AgentMessage_SwitchReport{SwitchReport: &agentpb.SwitchReport{Steps: []*agentpb.SwitchReport_Steps{steps}}}})
	a.send(&agentpb.AgentMessage{Message: &agentpb.AgentMessage_Ping{Ping: &agentpb.Ping{}}})
	a.until("Pong", func(m *agentpb.ServerMessage) bool { return m.GetPong() != nil })
	a.send(&agentpb.AgentMessage{Message: &agentpb.AgentMessage_Ping{Ping: &agentpb.Ping{}}})
	a.until("Pong", func(m *agentpb.ServerMessage) bool { return m.GetPong() != nil })
	r, err := c.service.SwitchMetrics(t.Context(), connect.NewRequest(&scorev1.SwitchMetricsRequest{Node: "n1"}))
	if err != nil || len(r.Msg.GetGroups()) != 1 || r.Msg.GetGroups()[0].GetSteps()[0].GetStep() != "go" {
		t.Errorf("metrics %v, %v", r, err)
	}
}

func TestOutboxIsBounded(t *testing.T) {
	link := newAgentLink(nil)
	for range api.MaxQueued + 1 {
		link.Send(&agentpb.ServerMessage{})
	}
	select {
	case <-link.over:
	default:
		t.Error("an agent that takes nothing keeps its stream")
	}
	link.Close("late") // must not panic
}
