package rpc

import (
	"context"
	"errors"
	"score/scored/api/scorev1"
	"score/scored/leader"

	"connectrpc.com/connect"
)

// confirming sends the source's agent what is shown, and the pace of the output, until ctx ends or
// stop is called.
func (m *merger) confirming(ctx context.Context, source *leader.Source, p *outputProgress) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	m.senders.Go(func() {
		defer m.flows.end(p)
		for {
			select {
			case <-p.pacing.checkDue:
				m.updatePace(ctx, source, p)
			case number := <-p.shown:
				m.confirmShown(ctx, source, p, number)
			case <-ctx.Done():
				return
			}
		}
	})
	return cancel
}

// confirmShown confirms output up to the number to the source's agent. If that fails, it is tried
// again: the ranks may be blocked until this confirmation, and no further output would trigger one.
func (m *merger) confirmShown(ctx context.Context, source *leader.Source, p *outputProgress, number uint64) {
	request := connect.NewRequest(&scorev1.OutputMark{JobId: source.Job, Attempt: source.Attempt, NodeIndex: source.Index, Sequence: number})
	_, err := m.agent(source.Node, p.agentAddress()).ConfirmOutput(ctx, request)
	if err == nil || connect.CodeOf(err) == connect.CodeUnimplemented { // an older agent
		return
	}
	if pauseFor(ctx, refetchPause) {
		p.confirm(number)
	}
}

// maxMarks bounds the marks of one request: no job has more nodes.
const maxMarks = 1 << 14

// ConfirmOutput implements JobServiceHandler.
func (u users) ConfirmOutput(
	ctx context.Context,
	request *connect.Request[scorev1.ConfirmOutputRequest],
) (*connect.Response[scorev1.ConfirmOutputResponse], error) {
	if len(request.Msg.GetMarks()) > maxMarks {
		return nil, connect.NewError(connect.CodeInvalidArgument, errors.New("too many marks"))
	}
	for _, m := range u.attached.of(request.Msg.GetJobId(), callerOf(ctx).UID) {
		m.confirm(request.Msg.GetMarks())
	}
	return connect.NewResponse(&scorev1.ConfirmOutputResponse{}), nil
}
