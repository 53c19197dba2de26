package rpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"score/scored/api/agentpb"
	"score/scored/api/identity/pki"
	"score/scored/api/scorev1"
	"score/scored/api/transport/h2"
	"score/scored/leader"
	"time"

	"connectrpc.com/connect"
	"go.uber.org/zap"
)

// errCutOff is a stream that ended without the mark of its end.
var errCutOff = errors.New("the node's agent closed the connection early")

const (
	// refetchPatience is how long a node's agent may be away before its output is given up: a
	// little longer than the leader waits for it.
	refetchPatience = leader.NodeGrace + 2*time.Second
	// refetchPause is the time between two attempts.
	refetchPause = 100 * time.Millisecond
	// maxCutOffs is how many streams in a row an agent may close early without sending anything.
	maxCutOffs = 3
)

// follow fetches one source to its end, and warns the client if output may be missing. It retries
// while an agent is away: the agent may be restarting, and its stewards keep the output.
func (m *merger) follow(ctx, fetchCtx context.Context, source *leader.Source, r *reader) {
	progress := m.marks.progressOf(source)
	stop := m.confirming(ctx, source, progress)
	defer stop()
	err := m.refetch(fetchCtx, source, progress, r)
	if err == nil || ctx.Err() != nil || errors.Is(err, errInputLost) || !m.attachment.MayHaveOutput(ctx, source) {
		return
	}
	m.Logger.Warn("output lost", zap.Uint64("job", source.Job), zap.String("node", source.Node), zap.Error(err))
	text := fmt.Sprintf("output from node %s may be missing: %s", source.Node, missingBecause(err))
	m.emit(ctx, &scorev1.AttachEvent{Event: &scorev1.AttachEvent_Warning{Warning: text}})
	if m.acknowledges {
		m.emit(ctx, &scorev1.AttachEvent{Event: &scorev1.AttachEvent_OutputMissing{OutputMissing: true}})
	}
}

// missingBecause returns why output cannot be fetched, for users: the agent's own sentence if it
// sent one, or what is wrong with its certificate.
func missingBecause(err error) string {
	if errors.Is(err, errCutOff) {
		return errCutOff.Error()
	}
	if refused, ok := errors.AsType[*connect.Error](err); ok && connect.IsWireError(err) {
		return refused.Message()
	}
	if refused, ok := errors.AsType[*pki.VerifyError](err); ok {
		return refused.Error() // perhaps this host's clock is wrong
	}
	return "the connection to the node's agent was lost"
}

func (m *merger) refetch(ctx context.Context, source *leader.Source, progress *outputProgress, r *reader) error {
	tries := newTries(time.Now(), progress.reached())
	for {
		began := time.Now()
		err := m.fetch(ctx, source, progress, r)
		if err == nil || ctx.Err() != nil {
			return err
		}
		if r.inFlight() {
			m.inputs.lose()
			return errInputLost
		}
		if !tries.retry(began, time.Now(), progress.reached(), err) {
			return err
		}
		if !pauseFor(ctx, refetchPause) {
			return ctx.Err()
		}
		address := m.attachment.Address(ctx, source)
		if address == "" {
			return err
		}
		progress.move(address)
	}
}

// fetch passes on the source's output, from where an earlier fetch ended.
func (m *merger) fetch(ctx context.Context, source *leader.Source, progress *outputProgress, r *reader) error {
	ctx, cancel := context.WithCancel(ctx)
	stream := m.agent(source.Node, progress.agentAddress()).Stdio(ctx)
	closed := h2.CloseWith(ctx, stream)
	defer func() { cancel(); <-closed }()
	open := &agentpb.StdioOpen{JobId: source.Job, Sequence: progress.reached(), Attempt: source.Attempt}
	// If Send fails, Receive returns the reason.
	_ = stream.Send(&agentpb.StdioUp{Message: &agentpb.StdioUp_Open{Open: open}})
	if r.input != nil {
		carried := make(chan struct{})
		m.senders.Go(func() {
			defer close(carried)
			m.sendInput(ctx, stream, r, source, progress.agentAddress())
		})
		defer func() { cancel(); <-carried }() // the next fetch must not send input before this one has ended
	}
	for {
		down, err := stream.Receive()
		switch {
		case errors.Is(err, io.EOF):
			return errCutOff
		case err != nil:
			return err
		case down.GetDrained():
			return nil
		}
		switch down := down.GetMessage().(type) {
		case *agentpb.StdioDown_Output:
			progress.pacing.onMessage(time.Now(), len(down.Output.GetData()))
			m.passOutput(ctx, progress, down.Output)
		case *agentpb.StdioDown_InputTaken:
			r.onTaken(down.InputTaken)
		}
	}
}

// passOutput passes on what the client has not got from an earlier fetch.
func (m *merger) passOutput(ctx context.Context, progress *outputProgress, output *scorev1.Output) {
	number := output.GetMark().GetSequence()
	if number != 0 && number <= progress.reached() {
		return
	}
	if number != 0 {
		progress.onOffer(number)
	}
	m.emit(ctx, &scorev1.AttachEvent{Event: &scorev1.AttachEvent_Output{Output: output}})
	if number != 0 && ctx.Err() == nil {
		progress.onPassed(number, len(output.GetData()))
	}
}

// pauseFor waits. It reports whether the pause ended before ctx.
func pauseFor(ctx context.Context, pause time.Duration) bool {
	select {
	case <-time.After(pause):
		return true
	case <-ctx.Done():
		return false
	}
}

// emit gives an event to the writer.
func (m *merger) emit(ctx context.Context, event *scorev1.AttachEvent) {
	select {
	case m.output <- event:
	case <-ctx.Done():
	}
}
