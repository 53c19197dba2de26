package nodeagent

import (
	"context"
	"errors"
	"score/nodeagent/filetransfer"
	"score/nodeagent/peers"
	"score/scored/api/scorev1"
	"score/scored/api/scorev1/scorev1connect"

	"connectrpc.com/connect"
)

// ConfirmOutput implements scorev1connect.PeerServiceHandler.
func (a peerService) ConfirmOutput(_ context.Context, request *connect.Request[scorev1.OutputMark]) (*connect.Response[scorev1.ConfirmOutputResponse], error) {
	if j := a.jobs.Get(request.Msg.GetJobId()); j != nil && j.order.GetAttempt() == request.Msg.GetAttempt() {
		if steward := j.stewardOf(); steward != nil {
			_ = steward.Taken(request.Msg.GetSequence()) // a steward that is gone keeps nothing
		}
	}
	return connect.NewResponse(&scorev1.ConfirmOutputResponse{}), nil
}

// PaceOutput implements scorev1connect.PeerServiceHandler.
func (a peerService) PaceOutput(_ context.Context, request *connect.Request[scorev1.PaceOutputRequest]) (*connect.Response[scorev1.PaceOutputResponse], error) {
	if j := a.jobs.Get(request.Msg.GetJobId()); j != nil && j.order.GetAttempt() == request.Msg.GetAttempt() {
		if steward := j.stewardOf(); steward != nil {
			_ = steward.Pace(request.Msg.GetBytesPerSecond()) // a steward that is gone reads nothing
		}
	}
	return connect.NewResponse(&scorev1.PaceOutputResponse{}), nil
}

// peerService is what the servers and the other agents ask of this one.
type peerService struct {
	*Agent
	*filetransfer.Transfers
}

var _ scorev1connect.PeerServiceHandler = peerService{}

// Collect implements scorev1connect.PeerServiceHandler.
func (a peerService) Collect(ctx context.Context, request *connect.Request[scorev1.CollectRequest]) (*connect.Response[scorev1.CollectResponse], error) {
	if err := a.collect(ctx, request.Msg); err != nil {
		return nil, connect.NewError(connect.CodeFailedPrecondition, err)
	}
	return connect.NewResponse(&scorev1.CollectResponse{}), nil
}

// Relay implements scorev1connect.PeerServiceHandler.
func (a peerService) Relay(ctx context.Context, request *connect.Request[scorev1.RelayRequest]) (*connect.Response[scorev1.RelayResponse], error) {
	err := a.relay(ctx, request.Msg)
	switch {
	case errors.Is(err, peers.ErrNoPart):
		return nil, connect.NewError(connect.CodeNotFound, err)
	case err != nil:
		return nil, connect.NewError(connect.CodeFailedPrecondition, err)
	}
	return connect.NewResponse(&scorev1.RelayResponse{}), nil
}

// Probe implements scorev1connect.PeerServiceHandler.
func (a peerService) Probe(_ context.Context, request *connect.Request[scorev1.ProbeRequest]) (*connect.Response[scorev1.ProbeResponse], error) {
	if node := request.Msg.GetNode(); node != a.options.Name {
		return nil, connect.NewError(connect.CodeNotFound, errors.New("this is not node "+node))
	}
	return connect.NewResponse(&scorev1.ProbeResponse{}), nil
}
