package jobs

import (
	"context"
	"errors"
	"score/nodeagent/metrics"
	"score/nodeagent/steward/client"
	"score/scored/api/agentpb"
	"time"

	"connectrpc.com/connect"
	"go.uber.org/zap"
)

// jobTimeout is how long an early reader waits for its job: a server opens the output when it
// orders the job on another stream.
const jobTimeout = 10 * time.Second

type stdioStream = connect.BidiStream[agentpb.StdioUp, agentpb.StdioDown]

// Stdio implements agentpbconnect.PeerServiceHandler: it relays between the server and the job's
// steward. It buffers nothing: if the server does not read, the relay waits, then the steward, then
// the ranks. Input waits the other way round.
func (s PeerService) Stdio(ctx context.Context, stream *stdioStream) error {
	first, err := stream.Receive()
	if err != nil {
		return err
	}
	open := first.GetOpen()
	if open.GetJobId() == 0 {
		return connect.NewError(connect.CodeInvalidArgument, errors.New("the first message names no job"))
	}
	j, err := s.jobs.jobWithOutput(ctx, open.GetJobId(), open.GetAttempt())
	if err != nil {
		return err
	}
	defer j.countReader()()
	steward := j.stewardOf()
	if steward == nil {
		return drained(stream) // the job could not be started
	}
	ranks, err := client.DialStdio(ctx, steward.Socket(), j.id, open.GetSequence())
	if err != nil {
		s.jobs.options.Logger.Debug("no output, the steward is gone", zap.Uint64("job", j.id), zap.Error(err))
		return errStewardLost()
	}
	stop := context.AfterFunc(ctx, func() { _ = ranks.Close() })
	defer stop()
	defer func() { _ = ranks.Close() }()
	ranks.InputTaken = func(offset uint64) {
		// If the server is gone, relayOutput notices.
		_ = stream.Send(&agentpb.StdioDown{Message: &agentpb.StdioDown_InputTaken{InputTaken: offset}})
	}
	// relayInput's Receive returns after this handler, because the stream ends with it.
	s.jobs.options.Go(func() { relayInput(stream, ranks) })
	err = s.jobs.relayOutput(ctx, stream, ranks)
	if !errors.Is(err, client.ErrGone) {
		return err
	}
	select {
	case <-j.ctx.Done():
		return connect.NewError(connect.CodeAborted, errors.New("the job has left the node")) // its steward may have another by now
	case <-steward.Exited():
		return errStewardLost()
	case <-time.After(exitTimeout):
		return connect.NewError(connect.CodeAborted, errors.New("another reader has taken over the job's output"))
	}
}

// errStewardLost returns the error for a reader of output that was lost with its steward.
func errStewardLost() error {
	return connect.NewError(connect.CodeDataLoss, errors.New("the process that kept the output was lost"))
}

// jobWithOutput finds an attempt of a job whose steward has been chosen.
func (js *Jobs) jobWithOutput(ctx context.Context, id uint64, attempt uint32) (*Job, error) {
	ctx, cancel := context.WithTimeout(ctx, jobTimeout)
	defer cancel()
	j := js.table.Await(ctx, id, attempt)
	if j != nil {
		select {
		case <-j.claimed:
			return j, nil
		case <-ctx.Done():
		}
	}
	return nil, connect.NewError(connect.CodeNotFound, js.options.Node.noPart(id))
}

func drained(stream *stdioStream) error {
	return stream.Send(&agentpb.StdioDown{Message: &agentpb.StdioDown_Drained{Drained: true}})
}

// exitTimeout is how long a process whose connections have ended may take to be reaped.
const exitTimeout = time.Second

// relayOutput relays output to the server until there is no more, or either side is gone.
func (js *Jobs) relayOutput(ctx context.Context, stream *stdioStream, ranks *client.Stdio) error {
	for {
		output, end, err := ranks.Receive()
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			return err
		}
		if end {
			return drained(stream)
		}
		js.options.Metrics.Add(metrics.OutputBytes, uint64(len(output.GetData())))
		if err := stream.Send(&agentpb.StdioDown{Message: &agentpb.StdioDown_Output{Output: output}}); err != nil {
			return err
		}
	}
}

func relayInput(stream *stdioStream, ranks *client.Stdio) {
	for {
		message, err := stream.Receive()
		if err != nil {
			return
		}
		if input := message.GetStdin(); input != nil && ranks.Send(input) != nil {
			return
		}
	}
}
