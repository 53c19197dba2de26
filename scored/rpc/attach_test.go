package rpc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"score/scored/api/agentpb"
	"score/scored/api/identity/pki"
	"score/scored/api/identity/pki/pkitest"
	"score/scored/api/scorev1"
	"score/tests/await"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"connectrpc.com/connect"
)

type attachClient = connect.BidiStreamForClient[scorev1.AttachRequest, scorev1.AttachEvent]

func (c *cluster) attach(ctx context.Context, open *scorev1.AttachRequest_Open) *attachClient {
	c.t.Helper()
	stream := c.jobs.Attach(ctx)
	if err := stream.Send(&scorev1.AttachRequest{Request: &scorev1.AttachRequest_Open_{Open: open}}); err != nil {
		c.t.Fatal(err)
	}
	return stream
}

// collected is everything that an attachment has sent.
type collected struct {
	output   bytes.Buffer
	states   []scorev1.JobState
	warnings []string
	verdict  *scorev1.Verdict
	err      error
}

func collect(stream *attachClient) *collected {
	c := new(collected)
	for {
		event, err := stream.Receive()
		if err != nil {
			if !errors.Is(err, io.EOF) {
				c.err = err
			}
			return c
		}
		switch e := event.GetEvent().(type) {
		case *scorev1.AttachEvent_Output:
			if c.verdict != nil {
				c.err = errors.New("output after the end")
			}
			c.output.Write(e.Output.GetData())
		case *scorev1.AttachEvent_State:
			c.states = append(c.states, e.State.GetState())
		case *scorev1.AttachEvent_Warning:
			c.warnings = append(c.warnings, e.Warning)
		case *scorev1.AttachEvent_Ended:
			c.verdict = e.Ended
		}
	}
}

// attachedSpec returns a job whose output goes to the client.
func attachedSpec(tasks uint32) *scorev1.JobSpec {
	spec := goodSpec()
	spec.Tasks, spec.NodeList = tasks, nil
	return spec
}

// print writes lines and then the end.
func printing(lines ...string) func(context.Context, *stdioStream) error {
	return func(_ context.Context, stream *stdioStream) error {
		if up, err := stream.Receive(); err != nil || up.GetOpen().GetJobId() == 0 {
			return fmt.Errorf("first message %v: %w", up, err)
		}
		for _, line := range lines {
			if err := stream.Send(&agentpb.StdioDown{Message: &agentpb.StdioDown_Output{Output: &scorev1.Output{Stream: 1, Data: []byte(line)}}}); err != nil {
				return err
			}
		}
		return stream.Send(&agentpb.StdioDown{Message: &agentpb.StdioDown_Drained{Drained: true}})
	}
}

func TestAllOutputComesBeforeTheEnd(t *testing.T) {
	c := newCluster(t)
	first := c.join("n1", printing("a\n", "b\n"))
	held := make(chan struct{})
	second := c.join("n2", func(ctx context.Context, stream *stdioStream) error {
		<-held // the end of the job is known long before
		return printing("c\n")(ctx, stream)
	})
	id := c.submit(attachedSpec(4))
	stream := c.attach(t.Context(), &scorev1.AttachRequest_Open{JobId: id, Owner: true})
	result := make(chan *collected, 1)
	go func() { result <- collect(stream) }()
	prepare := func(a *fakeAgent) {
		a.until("Prepare", func(m *agentpb.ServerMessage) bool { return m.GetPrepare() != nil })
		a.send(&agentpb.AgentMessage{Message: &agentpb.AgentMessage_Prepared{Prepared: &agentpb.Prepared{JobId: id}}})
	}
	prepare(first)
	prepare(second)
	for i, a := range []*fakeAgent{first, second} {
		a.until("Plan", func(m *agentpb.ServerMessage) bool { return len(m.GetPlan().GetRows()) > 0 })
		a.send(&agentpb.AgentMessage{Message: &agentpb.AgentMessage_Launched{Launched: &agentpb.Launched{JobId: id, AtNanos: 1}}})
		for rank := range uint32(2) {
			exit := &agentpb.RankExited{JobId: id, Rank: uint32(2*i) + rank}
			a.send(&agentpb.AgentMessage{Message: &agentpb.AgentMessage_RankExited{RankExited: exit}})
		}
		a.done(id)
	}
	c.awaitState(id, scorev1.JobState_JOB_STATE_DONE)
	close(held)
	got := <-result
	if got.err != nil || got.verdict.GetReason() != scorev1.EndReason_END_REASON_EXITED {
		t.Errorf("verdict %v, %v", got.verdict, got.err)
	}
	for _, line := range []string{"a\n", "b\n", "c\n"} {
		if !strings.Contains(got.output.String(), line) {
			t.Errorf("output %q has no %q", got.output.String(), line)
		}
	}
	first.until("Forget", func(m *agentpb.ServerMessage) bool { return m.GetForget().GetJobId() == id })
}

func (c *cluster) awaitState(id uint64, state scorev1.JobState) {
	c.t.Helper()
	await.That(c.t, fmt.Sprintf("job %d is %v", id, state), func() bool {
		r, err := c.jobs.GetJob(c.t.Context(), connect.NewRequest(&scorev1.GetJobRequest{JobId: id}))
		if err != nil {
			c.t.Fatal(err)
		}
		return r.Msg.GetJob().GetState() == state
	})
}

func TestInputGoesToTheFirstRanksNode(t *testing.T) {
	c := newCluster(t)
	a := c.join("n1", func(_ context.Context, stream *stdioStream) error {
		for {
			up, err := stream.Receive()
			if err != nil {
				return err
			}
			if up.GetStdin().GetEof() {
				return stream.Send(&agentpb.StdioDown{Message: &agentpb.StdioDown_Drained{Drained: true}})
			}
			if data := up.GetStdin().GetData(); data != nil { // like cat
				if err := stream.Send(&agentpb.StdioDown{Message: &agentpb.StdioDown_Output{Output: &scorev1.Output{Data: data}}}); err != nil {
					return err
				}
			}
		}
	})
	id := c.submit(attachedSpec(1))
	stream := c.attach(t.Context(), &scorev1.AttachRequest_Open{JobId: id, Owner: true})
	for _, text := range []string{"one\n", "two\n"} { // long before anything runs
		if err := stream.Send(&scorev1.AttachRequest{Request: &scorev1.AttachRequest_Stdin{Stdin: &scorev1.Stdin{Data: []byte(text)}}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := stream.Send(&scorev1.AttachRequest{Request: &scorev1.AttachRequest_Stdin{Stdin: &scorev1.Stdin{Eof: true}}}); err != nil {
		t.Fatal(err)
	}
	if err := stream.CloseRequest(); err != nil {
		t.Fatal(err)
	}
	a.done(a.launch())
	if got := collect(stream); got.output.String() != "one\ntwo\n" || got.err != nil || got.verdict == nil {
		t.Errorf("output %q, verdict %v, %v", got.output.String(), got.verdict, got.err)
	}
}

func TestSlowClientHoldsTheRanksBack(t *testing.T) {
	c := newCluster(t)
	const chunk, chunks = 32 << 10, 2048 // 64 MiB
	var sent atomic.Int64
	a := c.join("n1", func(_ context.Context, stream *stdioStream) error {
		down := &agentpb.StdioDown{Message: &agentpb.StdioDown_Output{Output: &scorev1.Output{Data: make([]byte, chunk)}}}
		for range chunks {
			if err := stream.Send(down); err != nil {
				return err
			}
			sent.Add(1)
		}
		return stream.Send(&agentpb.StdioDown{Message: &agentpb.StdioDown_Drained{Drained: true}})
	})
	id := c.submit(attachedSpec(1))
	ctx, cancel := context.WithCancel(t.Context())
	stream := c.attach(ctx, &scorev1.AttachRequest_Open{JobId: id, Owner: true})
	a.done(a.launch())
	settled := int64(-1)
	for { // until nothing moves any more
		time.Sleep(100 * time.Millisecond)
		if now := sent.Load(); now == settled && now > 0 {
			break
		} else {
			settled = now
		}
	}
	if settled*chunk > 16<<20 {
		t.Errorf("%d MiB were taken from a rank whose output no client reads", settled*chunk>>20)
	}
	var memory runtime.MemStats
	runtime.GC() // garbage does not count
	runtime.ReadMemStats(&memory)
	if memory.HeapAlloc > 64<<20 {
		t.Errorf("the heap holds %d MiB", memory.HeapAlloc>>20)
	}
	total := int64(0)
	for {
		event, err := stream.Receive()
		if err != nil {
			t.Fatal(err)
		}
		total += int64(len(event.GetOutput().GetData()))
		if event.GetEnded() != nil {
			break
		}
	}
	if total != chunk*chunks {
		t.Errorf("%d bytes came, %d were sent", total, chunk*chunks)
	}
	cancel()
}

// Users read the agent's sentence, and none of the transport's.
func TestMissingBecause(t *testing.T) {
	for want, err := range map[string]error{
		"the process is lost":                          connect.NewWireError(connect.CodeDataLoss, errors.New("the process is lost")),
		"the connection to the node's agent was lost":  connect.NewError(connect.CodeInternal, errors.New("http2: client connection lost")),
		"the node's agent closed the connection early": errCutOff,
	} {
		if got := missingBecause(err); got != want {
			t.Errorf("%v: %q, want %q", err, got, want)
		}
	}
	if got := missingBecause(expiredAgent(t)); !strings.HasPrefix(got, "the certificate of agent n1 of cluster lab expired 2 hours ago") {
		t.Errorf("an expired certificate: %q", got)
	}
}

// expiredAgent returns the error of a call to an agent whose certificate has expired.
func expiredAgent(t *testing.T) error {
	t.Helper()
	own := pkitest.New(t, "lab").Signed(t, pki.Agent, "n1", time.Now().Add(-3*time.Hour), time.Hour)
	return connect.NewError(connect.CodeUnavailable, own.Check())
}

func TestLostOutputIsTold(t *testing.T) {
	c := newCluster(t)
	a := c.join("n1", func(_ context.Context, stream *stdioStream) error {
		if _, err := stream.Receive(); err != nil {
			return err
		}
		return nil // without drained
	})
	id := c.submit(attachedSpec(1))
	stream := c.attach(t.Context(), &scorev1.AttachRequest_Open{JobId: id, Owner: true})
	a.done(a.launch())
	got := collect(stream)
	if len(got.warnings) != 1 || !strings.Contains(got.warnings[0], "output from node n1 may be missing") || got.verdict == nil {
		t.Errorf("%+v", got)
	}
}

// A job none of whose ranks could be started has no output that could be missing.
func TestNoOutputIsNotMissing(t *testing.T) {
	c := newCluster(t)
	a := c.join("n1", func(_ context.Context, stream *stdioStream) error {
		if _, err := stream.Receive(); err != nil {
			return err
		}
		return connect.NewError(connect.CodeAborted, errors.New("the job has left the node"))
	})
	id := c.submit(attachedSpec(1))
	stream := c.attach(t.Context(), &scorev1.AttachRequest_Open{JobId: id, Owner: true})
	a.until("Prepare", func(m *agentpb.ServerMessage) bool { return m.GetPrepare() != nil })
	a.send(&agentpb.AgentMessage{Message: &agentpb.AgentMessage_Prepared{Prepared: &agentpb.Prepared{JobId: id}}})
	a.until("Plan", func(m *agentpb.ServerMessage) bool { return len(m.GetPlan().GetRows()) > 0 })
	a.send(&agentpb.AgentMessage{Message: &agentpb.AgentMessage_Abort{Abort: &agentpb.Abort{JobId: id, ExitCode: 126, Message: "exec format error"}}})
	a.done(id)
	got := collect(stream)
	if len(got.warnings) != 0 || !strings.Contains(got.verdict.GetMessage(), "exec format error") {
		t.Errorf("%+v", got)
	}
}

func TestOrdersThroughAnAttachment(t *testing.T) {
	c := newCluster(t)
	a := c.join("n1", func(ctx context.Context, stream *stdioStream) error {
		<-ctx.Done()
		return nil
	})
	id := c.submit(attachedSpec(1))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	stream := c.attach(ctx, &scorev1.AttachRequest_Open{JobId: id, Owner: true, NoOutput: true})
	a.launch()
	send := func(r *scorev1.AttachRequest) {
		if err := stream.Send(r); err != nil {
			t.Fatal(err)
		}
	}
	send(&scorev1.AttachRequest{Request: &scorev1.AttachRequest_Signal{Signal: 10}})
	a.until("Signal", func(m *agentpb.ServerMessage) bool { return m.GetSignal().GetSignal() == 10 })
	send(&scorev1.AttachRequest{Request: &scorev1.AttachRequest_RankStates{RankStates: true}})
	asked := a.until("AskRankStates", func(m *agentpb.ServerMessage) bool { return m.GetAskRankStates() != nil }).GetAskRankStates()
	a.send(&agentpb.AgentMessage{Message: &agentpb.AgentMessage_RankStates{RankStates: &agentpb.RankStatesReply{
		Request: asked.GetRequest(), GangOn: true, Ranks: []*scorev1.RankState{{State: "running"}},
	}}})
	for {
		event, err := stream.Receive()
		if err != nil {
			t.Fatal(err)
		}
		if states := event.GetRankStates(); states != nil {
			if !states.GetGangOn() || states.GetRanks()[0].GetNode() != "n1" {
				t.Errorf("states %v", states)
			}
			break
		}
	}
	send(&scorev1.AttachRequest{Request: &scorev1.AttachRequest_Kill{Kill: true}})
	a.until("Kill", func(m *agentpb.ServerMessage) bool { return m.GetKill().GetJobId() == id })
	a.done(id)
	if got := collect(stream); got.verdict.GetReason() != scorev1.EndReason_END_REASON_CANCELLED {
		t.Errorf("%+v", got)
	}
}

func TestBadAttachments(t *testing.T) {
	c := newCluster(t)
	c.join("n1", nil)
	id := c.submit(attachedSpec(1))
	first := func(r *scorev1.AttachRequest) error {
		stream := c.jobs.Attach(t.Context())
		defer stream.CloseResponse()
		if r == nil {
			_ = stream.CloseRequest()
		} else {
			_ = stream.Send(r)
		}
		_, err := stream.Receive()
		return err
	}
	open := func(id uint64) *scorev1.AttachRequest {
		return &scorev1.AttachRequest{Request: &scorev1.AttachRequest_Open_{Open: &scorev1.AttachRequest_Open{JobId: id}}}
	}
	if err := first(nil); connect.CodeOf(err) != connect.CodeInvalidArgument {
		t.Errorf("nothing: %v", err)
	}
	if err := first(&scorev1.AttachRequest{Request: &scorev1.AttachRequest_Kill{Kill: true}}); connect.CodeOf(err) != connect.CodeInvalidArgument {
		t.Errorf("kill first: %v", err)
	}
	if err := first(open(99)); connect.CodeOf(err) != connect.CodeNotFound {
		t.Errorf("unknown job: %v", err)
	}
	stream := c.attach(t.Context(), &scorev1.AttachRequest_Open{JobId: id})
	if _, err := stream.Receive(); err != nil {
		t.Fatal(err)
	}
	if err := first(open(id)); connect.CodeOf(err) != connect.CodeFailedPrecondition {
		t.Errorf("a second reader: %v", err)
	}
	_ = stream.Send(open(id)) // the answer has the error
	if got := collect(stream); connect.CodeOf(got.err) != connect.CodeInvalidArgument {
		t.Errorf("opened twice: %v", got.err)
	}
}

// A client that vanishes leaks nothing, even while no rank writes.
func TestVanishedClientIsNoticed(t *testing.T) {
	c := newCluster(t)
	gone := make(chan struct{})
	a := c.join("n1", func(ctx context.Context, stream *stdioStream) error {
		if err := stream.Send(&agentpb.StdioDown{Message: &agentpb.StdioDown_Output{Output: &scorev1.Output{Data: []byte("hello")}}}); err != nil {
			return err
		}
		<-ctx.Done()
		gone <- struct{}{}
		return nil
	})
	id := c.submit(attachedSpec(1))
	ctx, cancel := context.WithCancel(t.Context())
	stream := c.attach(ctx, &scorev1.AttachRequest_Open{JobId: id, Owner: true})
	a.launch()
	for {
		event, err := stream.Receive()
		if err != nil {
			t.Fatal(err)
		}
		if event.GetOutput() != nil {
			break
		}
	}
	cancel()
	_ = stream.CloseRequest()
	_ = stream.CloseResponse()
	select {
	case <-gone:
	case <-time.After(patience):
		t.Fatal("the agent's relay goes on")
	}
	await.That(t, "the first attachment is gone", func() bool {
		_, err := c.attach(t.Context(), &scorev1.AttachRequest_Open{JobId: id, Owner: true}).Receive()
		return err == nil
	})
}
