package rpc

import (
	"context"
	"errors"
	"score/scored/api/agentpb"
	"score/scored/api/scorev1"
	"score/scored/leader"
	"sync/atomic"
	"testing"

	"connectrpc.com/connect"
)

// TestConfirmedBeforePassed: the client confirms output before the sender has recorded that it was
// sent. The confirmation counts, since ranks may wait for it.
func TestConfirmedBeforePassed(t *testing.T) {
	m := newMarks(&scorev1.AttachRequest_Open{Confirms: true})
	p := m.progressOf(&leader.Source{Job: 3, Attempt: 1, Index: 2})
	mark := func(number uint64) []*scorev1.OutputMark {
		return []*scorev1.OutputMark{{JobId: 3, Attempt: 1, NodeIndex: 2, Sequence: number}}
	}
	p.onOffer(5)
	m.confirm(mark(5))
	select {
	case number := <-p.shown:
		if number != 5 {
			t.Errorf("confirmed up to %d", number)
		}
	default:
		t.Error("the confirmation is lost")
	}
	p.onPassed(5, 100)
	if !p.awaitConfirmed(t.Context()) {
		t.Error("not confirmed")
	}
	m.confirm(mark(6)) // which was not sent
	select {
	case number := <-p.shown:
		t.Errorf("%d is confirmed, and was not sent", number)
	default:
	}
}

// TestConfirmationIsSentAgain: a node whose ranks wait for a confirmation gets it even if the first
// one is lost and nothing more is shown.
func TestConfirmationIsSentAgain(t *testing.T) {
	c := newCluster(t)
	confirmed := make(chan struct{})
	a := c.join("n1", func(ctx context.Context, stream *stdioStream) error {
		up, err := stream.Receive()
		if err != nil {
			return err
		}
		mark := &scorev1.OutputMark{JobId: up.GetOpen().GetJobId(), Attempt: up.GetOpen().GetAttempt(), Sequence: 1}
		output := &scorev1.Output{Stream: 1, Data: make([]byte, confirmEvery), Mark: mark}
		if err := stream.Send(&agentpb.StdioDown{Message: &agentpb.StdioDown_Output{Output: output}}); err != nil {
			return err
		}
		select { // until then the ranks write no more
		case <-confirmed:
		case <-ctx.Done():
			return ctx.Err()
		}
		return stream.Send(&agentpb.StdioDown{Message: &agentpb.StdioDown_Drained{Drained: true}})
	})
	var asked atomic.Int32
	a.confirm = func() error {
		switch asked.Add(1) {
		case 1:
			return connect.NewError(connect.CodeUnavailable, errors.New("the node is cut off"))
		case 2:
			close(confirmed)
		}
		return nil
	}
	id := c.submit(attachedSpec(1))
	stream := c.attach(t.Context(), &scorev1.AttachRequest_Open{JobId: id, Owner: true})
	a.done(a.launch())
	if output, _ := untilEnded(t, stream); len(output) != confirmEvery {
		t.Errorf("%d bytes came", len(output))
	}
}
