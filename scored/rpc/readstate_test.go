package rpc

import (
	"context"
	"errors"
	"io"
	"score/scored/api"
	"score/scored/api/agentpb"
	"score/scored/api/scorev1"
	"score/tests/await"
	"testing"

	"connectrpc.com/connect"
)

// acknowledging opens an attachment of a client that acknowledges.
func acknowledging(id uint64, have ...*scorev1.OutputMark) *scorev1.AttachRequest_Open {
	return &scorev1.AttachRequest_Open{JobId: id, Owner: true, Confirms: true, Acknowledges: true, Have: have}
}

// keeping is a node that sends numbered lines from where its reader ended, any number of times.
func keeping(lines ...string) func(context.Context, *stdioStream) error {
	return func(_ context.Context, stream *stdioStream) error {
		up, err := stream.Receive()
		if err != nil {
			return err
		}
		open := up.GetOpen()
		for i := open.GetSequence(); i < uint64(len(lines)); i++ {
			mark := &scorev1.OutputMark{JobId: open.GetJobId(), Attempt: open.GetAttempt(), Sequence: i + 1}
			output := &scorev1.Output{Stream: 1, Data: []byte(lines[i]), Mark: mark}
			if err := stream.Send(&agentpb.StdioDown{Message: &agentpb.StdioDown_Output{Output: output}}); err != nil {
				return err
			}
		}
		return stream.Send(&agentpb.StdioDown{Message: &agentpb.StdioDown_Drained{Drained: true}})
	}
}

// untilEnded receives until the job's end, and returns the output and the last mark.
func untilEnded(t *testing.T, stream *attachClient) (output string, last *scorev1.OutputMark) {
	t.Helper()
	for {
		event, err := stream.Receive()
		if err != nil {
			t.Fatal(err)
		}
		if out := event.GetOutput(); out != nil {
			output += string(out.GetData())
			last = out.GetMark()
		}
		if event.GetEnded() != nil {
			return output, last
		}
	}
}

// A client whose connection breaks before the end of the output attaches again for it. Once it
// acknowledges all, the nodes forget the job.
func TestOutputIsKeptUntilItIsAcknowledged(t *testing.T) {
	c := newCluster(t)
	a := c.join("n1", keeping("a\n", "b\n", "c\n"))
	id := c.submit(attachedSpec(1))
	ctx, lose := context.WithCancel(t.Context())
	first := c.attach(ctx, acknowledging(id))
	a.done(a.launch())
	output, mark := untilEnded(t, first)
	if output != "a\nb\nc\n" {
		t.Fatalf("output %q", output)
	}
	lose()
	_ = first.CloseRequest() // otherwise the transport does not end the stream
	// All of it was sent; the client has shown one line.
	mark.Sequence = 1
	var second *attachClient
	await.That(t, "the first attachment is gone", func() bool {
		second = c.attach(t.Context(), acknowledging(id, mark))
		_, err := second.Receive()
		if err != nil && connect.CodeOf(err) != connect.CodeUnavailable { // the leader is ending the first
			t.Fatal(err)
		}
		return err == nil
	})
	if output, _ := untilEnded(t, second); output != "b\nc\n" {
		t.Errorf("the second attachment brings %q", output)
	}
	if err := second.Send(&scorev1.AttachRequest{Request: &scorev1.AttachRequest_Acknowledged{Acknowledged: true}}); err != nil {
		t.Fatal(err)
	}
	if _, err := second.Receive(); err == nil {
		t.Error("there is more after the end")
	}
	a.until("Forget", func(m *agentpb.ServerMessage) bool { return m.GetForget().GetJobId() == id })
}

// A client that says that all output came before the end need not say more: the end is final, and
// the nodes forget the job though the client leaves at once.
func TestEndIsFinalOnceAllOutputIsReceived(t *testing.T) {
	c := newCluster(t)
	a := c.join("n1", keeping("a\n", "b\n"))
	id := c.submit(attachedSpec(1))
	ctx, leave := context.WithCancel(t.Context())
	stream := c.attach(ctx, acknowledging(id))
	launched := a.launch()
	ended := func() *scorev1.AttachEvent {
		t.Helper()
		for {
			event, err := stream.Receive()
			if err != nil {
				t.Fatal(err)
			}
			if event.GetOutputEnded() != 0 || event.GetEnded() != nil || event.GetFinal() != nil {
				return event
			}
		}
	}
	attempt := ended().GetOutputEnded()
	if attempt == 0 {
		t.Fatal("the end of the output is not told before the job's")
	}
	if err := stream.Send(&scorev1.AttachRequest{Request: &scorev1.AttachRequest_ReceivedAttempt{ReceivedAttempt: attempt}}); err != nil {
		t.Fatal(err)
	}
	// The answer to this comes after the server has read the one before.
	if err := stream.Send(&scorev1.AttachRequest{Request: &scorev1.AttachRequest_RankStates{RankStates: true}}); err != nil {
		t.Fatal(err)
	}
	a.until("AskRankStates", func(m *agentpb.ServerMessage) bool { return m.GetAskRankStates() != nil })
	a.done(launched)
	if ended().GetFinal() == nil {
		t.Error("the end is not final")
	}
	leave()
	a.until("Forget", func(m *agentpb.ServerMessage) bool { return m.GetForget().GetJobId() == id })
	// The end may be lost with the server that sent it. Who comes again for it misses no output.
	open := acknowledging(id)
	open.ReceivedAttempt = attempt
	again := c.attach(t.Context(), open)
	for {
		event, err := again.Receive()
		if err != nil {
			t.Fatal(err)
		}
		if event.GetOutputMissing() || event.GetWarning() != "" {
			t.Errorf("the client that comes again is told %v", event)
		}
		if event.GetEnded() != nil || event.GetFinal() != nil {
			break
		}
	}
}

// A client that comes after the output was forgotten gets a warning that output may be missing.
func TestMissingOutputIsTold(t *testing.T) {
	c := newCluster(t)
	a := c.join("n1", func(_ context.Context, stream *stdioStream) error {
		_, err := stream.Receive()
		return err // without drained
	})
	id := c.submit(attachedSpec(1))
	missing := func(stream *attachClient) (found bool) {
		t.Helper()
		for {
			event, err := stream.Receive()
			if err != nil {
				t.Fatal(err)
			}
			found = found || event.GetOutputMissing()
			if event.GetEnded() != nil {
				return found
			}
		}
	}
	first := c.attach(t.Context(), acknowledging(id))
	a.done(a.launch())
	if !missing(first) {
		t.Error("the client of a node that lost its output gets no warning")
	}
	if err := first.Send(&scorev1.AttachRequest{Request: &scorev1.AttachRequest_Acknowledged{Acknowledged: true}}); err != nil {
		t.Fatal(err)
	}
	_, _ = first.Receive() // its end
	a.until("Forget", func(m *agentpb.ServerMessage) bool { return m.GetForget().GetJobId() == id })
	if !missing(c.attach(t.Context(), acknowledging(id))) {
		t.Error("a client after the job was forgotten gets no warning")
	}
}

// Input that was on its way to a lost agent is requested again.
func TestInputOnItsWay(t *testing.T) {
	c := newCluster(t)
	lost := make(chan struct{}, 1)
	lost <- struct{}{}
	a := c.join("n1", func(_ context.Context, stream *stdioStream) error {
		if err := stream.Send(&agentpb.StdioDown{Message: &agentpb.StdioDown_InputTaken{InputTaken: 0}}); err != nil {
			return err
		}
		for {
			up, err := stream.Receive()
			if err != nil {
				return err
			}
			in := up.GetStdin()
			if in == nil {
				continue
			}
			select {
			case <-lost:
				return nil // with the input
			default:
			}
			taken := api.InputEnd(in)
			if err := stream.Send(&agentpb.StdioDown{Message: &agentpb.StdioDown_InputTaken{InputTaken: taken}}); err != nil {
				return err
			}
			if in.GetEof() {
				return stream.Send(&agentpb.StdioDown{Message: &agentpb.StdioDown_Drained{Drained: true}})
			}
		}
	})
	id := c.submit(attachedSpec(1))
	input := func(stream *attachClient) {
		t.Helper()
		for _, in := range []*scorev1.Stdin{
			{Offset: new(uint64), Data: []byte("four")}, {Offset: func() *uint64 { n := uint64(4); return &n }(), Eof: true},
		} {
			err := stream.Send(&scorev1.AttachRequest{Request: &scorev1.AttachRequest_Stdin{Stdin: in}})
			if errors.Is(err, io.EOF) {
				return // the stream has ended already; Receive has the reason
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	first := c.attach(t.Context(), acknowledging(id))
	launched := a.launch()
	input(first)
	for {
		if _, err := first.Receive(); err != nil {
			if connect.CodeOf(err) != connect.CodeUnavailable {
				t.Fatal(err)
			}
			break
		}
	}
	second := c.attach(t.Context(), acknowledging(id))
	input(second)
	for taken := uint64(0); taken != 5; {
		event, err := second.Receive()
		if err != nil {
			t.Fatal(err)
		}
		taken = max(taken, event.GetInputTaken())
	}
	a.done(launched)
	untilEnded(t, second)
}
