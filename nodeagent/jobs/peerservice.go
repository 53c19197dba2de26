package jobs

import (
	"context"
	"errors"
	"fmt"
	"score/nodeagent/gossip"
	"score/nodeagent/peers"
	"score/nodeagent/stewardpool"
	"score/scored/api/agentpb"
	"score/scored/api/identity/access"
	"score/scored/api/identity/pki"
	"score/scored/api/scorev1"

	"connectrpc.com/connect"
)

// PeerService is the part of agentpbconnect.PeerServiceHandler about jobs, for servers and other
// agents.
type PeerService struct{ jobs *Jobs }

// PeerService returns the service for the jobs.
func (js *Jobs) PeerService() PeerService { return PeerService{js} }

// checkCaller refuses a caller that is not the agent of the job's node, by its certificate.
func (j *Job) checkCaller(ctx context.Context, nodeIndex uint32) error {
	places := j.order.GetPlaces()
	caller, _ := access.CallerOf(ctx)
	if int64(nodeIndex) < int64(len(places)) && caller.Role == pki.Agent && caller.Name == places[nodeIndex].GetNode() {
		return nil
	}
	return connect.NewError(connect.CodePermissionDenied, fmt.Errorf("%s is not the agent of part %d of job %d", caller, nodeIndex, j.id))
}

// ConfirmOutput implements agentpbconnect.PeerServiceHandler.
func (s PeerService) ConfirmOutput(_ context.Context, request *connect.Request[scorev1.OutputMark]) (*connect.Response[scorev1.ConfirmOutputResponse], error) {
	m := request.Msg
	s.jobs.withAttempt(m.GetJobId(), m.GetAttempt(), func(s *stewardpool.Steward) error { return s.Taken(m.GetSequence()) })
	return connect.NewResponse(&scorev1.ConfirmOutputResponse{}), nil
}

// withAttempt calls do with the steward of an attempt of a job, if it is here and has one. Errors
// are ignored: a lost steward neither reads nor keeps output.
func (js *Jobs) withAttempt(id uint64, attempt uint32, do func(*stewardpool.Steward) error) {
	if j := js.Get(id); j != nil && j.Attempt() == attempt {
		j.withSteward(do)
	}
}

// PaceOutput implements agentpbconnect.PeerServiceHandler.
func (s PeerService) PaceOutput(_ context.Context, request *connect.Request[agentpb.PaceOutputRequest]) (*connect.Response[agentpb.PaceOutputResponse], error) {
	m := request.Msg
	s.jobs.withAttempt(m.GetJobId(), m.GetAttempt(), func(s *stewardpool.Steward) error { return s.Pace(m.GetBytesPerSecond()) })
	return connect.NewResponse(&agentpb.PaceOutputResponse{}), nil
}

// Collect implements agentpbconnect.PeerServiceHandler.
func (s PeerService) Collect(ctx context.Context, request *connect.Request[agentpb.CollectRequest]) (*connect.Response[agentpb.CollectResponse], error) {
	if err := s.jobs.collect(ctx, request.Msg); err != nil {
		return nil, connect.NewError(connect.CodeFailedPrecondition, err)
	}
	return connect.NewResponse(&agentpb.CollectResponse{}), nil
}

// collect handles a step of a collective from another node's agent.
func (js *Jobs) collect(ctx context.Context, request *agentpb.CollectRequest) error {
	j := js.Get(request.GetJobId())
	if j == nil || j.group == nil {
		return js.options.Node.noPart(request.GetJobId())
	}
	if err := j.checkCaller(ctx, request.GetFromNodeIndex()); err != nil {
		return err
	}
	return j.group.Collect(request)
}

// Gossip implements agentpbconnect.PeerServiceHandler.
func (s PeerService) Gossip(ctx context.Context, request *connect.Request[agentpb.GossipRequest]) (*connect.Response[agentpb.GossipResponse], error) {
	m := request.Msg
	j := s.jobs.Get(m.GetJobId())
	if j == nil || j.group == nil || j.Attempt() != m.GetAttempt() {
		return nil, connect.NewError(connect.CodeNotFound, s.jobs.options.Node.noPart(m.GetJobId()))
	}
	if err := j.checkCaller(ctx, m.GetFromNodeIndex()); err != nil {
		return nil, err
	}
	if m.GetKind() > uint32(gossip.RankReborn) {
		return nil, connect.NewError(connect.CodeInvalidArgument, fmt.Errorf("there is no failure of kind %d", m.GetKind()))
	}
	j.group.Receive(m)
	return connect.NewResponse(&agentpb.GossipResponse{}), nil
}

// Relay implements agentpbconnect.PeerServiceHandler.
func (s PeerService) Relay(ctx context.Context, request *connect.Request[agentpb.RelayRequest]) (*connect.Response[agentpb.RelayResponse], error) {
	err := s.jobs.relay(ctx, request.Msg)
	switch {
	case errors.Is(err, peers.ErrNoPart):
		return nil, connect.NewError(connect.CodeNotFound, err)
	case err != nil:
		return nil, connect.NewError(connect.CodeFailedPrecondition, err)
	}
	return connect.NewResponse(&agentpb.RelayResponse{}), nil
}
