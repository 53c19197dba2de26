package rpc

import (
	"score/scored/api/agentpb"
	"score/scored/api/protocol"
	"score/scored/api/scorev1"
	"strings"
	"testing"

	"connectrpc.com/connect"
)

// An agent that reads only UTF-8 gets no other text: a job with other text fails to start there,
// with the reason.
func TestAgentsThatTakeUTF8Alone(t *testing.T) {
	c := newCluster(t)
	a, _ := c.open(testKey, "n1")
	a.name, a.peer = "n1", "127.0.0.1:1"
	hello := a.hello()
	hello.ProtocolOldest, hello.ProtocolNewest = protocol.First, protocol.Texts-1
	a.send(&agentpb.AgentMessage{Message: &agentpb.AgentMessage_Hello{Hello: hello}})
	if m := a.receive(); m.GetWelcome() == nil {
		t.Fatalf("the leader says %v", m)
	}
	spec := goodSpec()
	spec.Tasks = 1
	spec.Argv = []string{"./\xff"}
	id := c.submit(spec)
	done, err := c.jobs.WaitJob(t.Context(), connect.NewRequest(&scorev1.WaitJobRequest{JobId: id}))
	if err != nil {
		t.Fatal(err)
	}
	v := done.Msg.GetJob().GetVerdict()
	if v.GetReason() != scorev1.EndReason_END_REASON_CANNOT_START || !strings.Contains(v.GetMessage(), "the agent of node n1 is of version") ||
		!strings.HasSuffix(v.GetMessage(), "upgrade the agent") {
		t.Errorf("%v", v)
	}
	spec.Argv = []string{"./a.out"}
	id = c.submit(spec)
	order := a.until("Prepare", func(m *agentpb.ServerMessage) bool { return m.GetPrepare() != nil }).GetPrepare()
	if order.GetJobId() != id {
		t.Errorf("it got an order to prepare %v", order)
	}
}
