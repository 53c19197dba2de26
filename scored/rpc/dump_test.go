package rpc

import (
	"errors"
	"score/scored/api/agentpb"
	"score/scored/api/scorev1"
	"strings"
	"testing"

	"connectrpc.com/connect"
)

// TestDumpComesFromAllNodes: one node after the other. If a part of one node's dump is missing, the
// dump says so and goes on with the other nodes.
func TestDumpComesFromAllNodes(t *testing.T) {
	c := newCluster(t)
	first, second := c.join("n1", printing()), c.join("n2", printing())
	part := func(text string) *scorev1.DumpPart {
		return &scorev1.DumpPart{Part: &scorev1.DumpPart_Data{Data: []byte(text)}}
	}
	first.dump = func(stream *dumpStream) error {
		if err := stream.Send(part("half")); err != nil {
			return err
		}
		return connect.NewError(connect.CodeResourceExhausted, errors.New("too large"))
	}
	second.dump = func(stream *dumpStream) error { return stream.Send(part("whole")) }
	id := c.submit(attachedSpec(4))
	if got, err := c.dump(t, id); connect.CodeOf(err) != connect.CodeFailedPrecondition || got != "" {
		t.Errorf("before it runs: %q, %v", got, err)
	}
	for _, a := range []*fakeAgent{first, second} {
		a.until("Prepare", func(m *agentpb.ServerMessage) bool { return m.GetPrepare() != nil })
		a.send(&agentpb.AgentMessage{Message: &agentpb.AgentMessage_Prepared{Prepared: &agentpb.Prepared{JobId: id}}})
	}
	for _, a := range []*fakeAgent{first, second} {
		a.until("Plan", func(m *agentpb.ServerMessage) bool { return len(m.GetPlan().GetRows()) > 0 })
		a.send(&agentpb.AgentMessage{Message: &agentpb.AgentMessage_Launched{Launched: &agentpb.Launched{JobId: id, AtNanos: 1}}})
	}
	c.awaitState(id, scorev1.JobState_JOB_STATE_RUNNING)
	got, err := c.dump(t, id)
	if err != nil || got != "half[of node n1 something is missing: too large]whole" {
		t.Errorf("%q, %v", got, err)
	}
	first.done(id)
	second.done(id)
	c.awaitState(id, scorev1.JobState_JOB_STATE_DONE)
	if got, err := c.dump(t, id); connect.CodeOf(err) != connect.CodeFailedPrecondition || got != "" {
		t.Errorf("after its end: %q, %v", got, err)
	}
	if _, err := c.dump(t, 0); err == nil {
		t.Error("no job is dumped")
	}
}

// dump returns the dump, with errors in brackets.
func (c *cluster) dump(t *testing.T, id uint64) (string, error) {
	t.Helper()
	stream, err := c.jobs.DumpJob(t.Context(), connect.NewRequest(&scorev1.DumpJobRequest{JobId: id}))
	if err != nil {
		return "", err
	}
	defer stream.Close()
	var got strings.Builder
	for stream.Receive() {
		got.Write(stream.Msg().GetData())
		if text := stream.Msg().GetTrouble(); text != "" {
			got.WriteString("[" + text + "]")
		}
	}
	return got.String(), stream.Err()
}
