package rpc

import (
	"context"
	"crypto/sha256"
	"net/http"
	"score/scored/admission"
	"score/scored/api"
	"score/scored/api/agentpb/agentpbconnect"
	"score/scored/api/scorev1"
	"score/scored/api/scorev1/scorev1connect"
	"score/scored/api/transport/h2"
	"score/scored/leader"
	"score/scored/state"
	"time"

	"connectrpc.com/connect"
	"go.uber.org/zap"
	"google.golang.org/protobuf/proto"
)

// Switches adds the measured times of switches to answers.
type Switches interface {
	Response(*scorev1.SwitchMetricsRequest) *scorev1.SwitchMetricsResponse
	// AddToJob and AddToTop add the times to the leader's answers.
	AddToJob(*scorev1.GetJobResponse)
	AddToTop(*scorev1.GetTopResponse)
}

// UserOptions are the options of NewUsers. CountError and Logger are optional.
type UserOptions struct {
	Leader   *leader.Leader
	Switches Switches
	// Agents calls the agents' PeerService at any address, and checks their certificates.
	Agents *http.Client
	// ExpectAgent records which node's agent answers at an address, so that Agents refuses others
	// there.
	ExpectAgent func(address, node string)
	// Registrar makes tokens; nil: daemons have no certificates.
	Registrar *admission.Registrar
	// Servers are the cluster's servers; nil: there is only this one.
	Servers Servers
	// PeerServer returns a client for another server; required with Servers.
	PeerServer func(name string) agentpbconnect.ServerServiceClient
	// Describe asks a server for its version; required with Servers.
	Describe func(ctx context.Context, server string) (*scorev1.ProgramVersion, error)
	// Program is this server's version.
	Program *scorev1.ProgramVersion
	// CountError counts refusals and failures by method and code.
	CountError func(procedure, code string)
	Logger     *zap.Logger
}

// users serves the programs of users.
type users struct {
	UserOptions
	attached *attached
	flows    *flows
	hosts    *hostNames
	agents   *h2.Clients[agentpbconnect.PeerServiceClient]
}

var (
	_ scorev1connect.JobServiceHandler     = users{}
	_ scorev1connect.ClusterServiceHandler = users{}
)

// NewUsers returns the handler for the users' Unix socket.
func NewUsers(options UserOptions) http.Handler {
	if options.Logger == nil {
		options.Logger = zap.NewNop()
	}
	u := users{UserOptions: options, attached: newAttached(), flows: newFlows(), hosts: newHostNames()}
	u.agents = h2.NewClients(func(address string) agentpbconnect.PeerServiceClient { return u.newAgent(address) })
	handlerOptions := []connect.HandlerOption{
		connect.WithInterceptors(
			interceptor{build: options.Program.GetBuild(), callerOf: options.Leader.CallerOf, fresh: options.Leader.Fresh, count: options.CountError},
		),
		connect.WithReadMaxBytes(api.MaxUserMessage),
		api.JSON(),
		withoutCompression(),
	}
	mux := http.NewServeMux()
	mux.Handle(scorev1connect.NewJobServiceHandler(u, handlerOptions...))
	mux.Handle(scorev1connect.NewClusterServiceHandler(u, handlerOptions...))
	return limitPerUser(mux, handlerOptions...)
}

// withoutCompression turns compression off: the data stays on this host, where copying is cheaper.
func withoutCompression() connect.HandlerOption {
	return connect.WithCompression("gzip", nil, nil)
}

// respond returns the message unless there is an error.
func respond[T any](message *T, err error) (*connect.Response[T], error) {
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(message), nil
}

// Submit implements JobServiceHandler.
func (u users) Submit(ctx context.Context, r *connect.Request[scorev1.SubmitRequest]) (*connect.Response[scorev1.SubmitResponse], error) {
	if err := checkSpec(r.Msg.GetSpec()); err != nil {
		return nil, err
	}
	identity, err := submitter(ctx, r.Msg.GetSpec())
	if err != nil {
		return nil, err
	}
	key, err := keyOf(r.Msg)
	if err != nil {
		return nil, err
	}
	spec, err := withOwnLimits(ctx, r.Msg.GetSpec())
	if err != nil {
		return nil, err
	}
	var id uint64
	if key == nil {
		id, err = u.Leader.Submit(ctx, spec, identity, callerOf(ctx))
	} else {
		id, err = u.Leader.SubmitOnce(ctx, *key, spec, identity, callerOf(ctx))
	}
	return respond(&scorev1.SubmitResponse{JobId: id}, err)
}

// keyOf returns the key of a submission, or nil.
func keyOf(r *scorev1.SubmitRequest) (*leader.Key, error) {
	switch {
	case len(r.GetKey()) == 0:
		return nil, nil
	case len(r.GetKey()) != state.KeyBytes:
		return nil, invalid("the key of a submission has %d bytes, not %d", state.KeyBytes, len(r.GetKey()))
	case r.GetWaitedNanos() < 0:
		return nil, invalid("a submission cannot have waited for %v", time.Duration(r.GetWaitedNanos()))
	}
	content, err := proto.MarshalOptions{Deterministic: true}.Marshal(r.GetSpec())
	if err != nil {
		return nil, invalid("the job cannot be encoded: %v", err)
	}
	return &leader.Key{Key: [state.KeyBytes]byte(r.GetKey()), Digest: sha256.Sum256(content), Waited: time.Duration(r.GetWaitedNanos())}, nil
}

// ListJobs implements JobServiceHandler.
func (u users) ListJobs(ctx context.Context, r *connect.Request[scorev1.ListJobsRequest]) (*connect.Response[scorev1.ListJobsResponse], error) {
	list, err := u.Leader.Jobs(ctx, r.Msg, callerOf(ctx))
	if err != nil {
		return nil, err
	}
	return respond(list, u.checkFound(ctx, len(list.GetJobs()), r.Msg))
}

// GetJob implements JobServiceHandler.
func (u users) GetJob(ctx context.Context, r *connect.Request[scorev1.GetJobRequest]) (*connect.Response[scorev1.GetJobResponse], error) {
	// RankStates comes first, since the nodes' answers also say how the start went.
	ranks, err := u.Leader.RankStates(ctx, r.Msg.GetJobId(), callerOf(ctx))
	if err != nil {
		return nil, err
	}
	response, err := u.Leader.Job(ctx, r.Msg.GetJobId(), callerOf(ctx))
	if err != nil {
		return nil, err
	}
	if response.GetJob().GetState() != scorev1.JobState_JOB_STATE_DONE { // it may have ended since
		response.Ranks = ranks
	}
	u.Switches.AddToJob(response)
	return connect.NewResponse(response), nil
}

// ExplainJob implements JobServiceHandler.
func (u users) ExplainJob(ctx context.Context, r *connect.Request[scorev1.ExplainJobRequest]) (*connect.Response[scorev1.ExplainJobResponse], error) {
	return respond(u.Leader.Explain(ctx, r.Msg.GetJobId(), callerOf(ctx)))
}

// CancelJob implements JobServiceHandler.
func (u users) CancelJob(ctx context.Context, r *connect.Request[scorev1.CancelJobRequest]) (*connect.Response[scorev1.CancelJobResponse], error) {
	identity, err := identityOf(ctx)
	if err != nil {
		return nil, err
	}
	end := u.Leader.Cancel
	if r.Msg.GetAtOnce() {
		end = u.Leader.Kill
	}
	return respond(&scorev1.CancelJobResponse{}, end(ctx, r.Msg.GetJobId(), callerOf(ctx), identity.GetUser()))
}

// maxReason bounds the reason for a requeue or a drain: a line or two on a terminal.
const maxReason = 200

// RequeueJob implements JobServiceHandler.
func (u users) RequeueJob(ctx context.Context, r *connect.Request[scorev1.RequeueJobRequest]) (*connect.Response[scorev1.RequeueJobResponse], error) {
	if err := checkText("the reason", r.Msg.GetReason(), maxReason); err != nil {
		return nil, err
	}
	identity, err := identityOf(ctx)
	if err != nil {
		return nil, err
	}
	return respond(&scorev1.RequeueJobResponse{}, u.Leader.Requeue(ctx, r.Msg.GetJobId(), callerOf(ctx), identity.GetUser(), r.Msg.GetReason()))
}

// HoldJob implements JobServiceHandler.
func (u users) HoldJob(ctx context.Context, r *connect.Request[scorev1.HoldJobRequest]) (*connect.Response[scorev1.HoldJobResponse], error) {
	identity, err := identityOf(ctx)
	if err != nil {
		return nil, err
	}
	return respond(&scorev1.HoldJobResponse{}, u.Leader.Hold(ctx, r.Msg.GetJobId(), callerOf(ctx), identity.GetUser()))
}

// ReleaseJob implements JobServiceHandler.
func (u users) ReleaseJob(ctx context.Context, r *connect.Request[scorev1.ReleaseJobRequest]) (*connect.Response[scorev1.ReleaseJobResponse], error) {
	identity, err := identityOf(ctx)
	if err != nil {
		return nil, err
	}
	return respond(&scorev1.ReleaseJobResponse{}, u.Leader.Release(ctx, r.Msg.GetJobId(), callerOf(ctx), identity.GetUser()))
}

// SignalJob implements JobServiceHandler.
func (u users) SignalJob(ctx context.Context, r *connect.Request[scorev1.SignalJobRequest]) (*connect.Response[scorev1.SignalJobResponse], error) {
	return respond(&scorev1.SignalJobResponse{}, u.Leader.Signal(ctx, r.Msg.GetJobId(), r.Msg.GetSignal(), callerOf(ctx)))
}

// WaitJob implements JobServiceHandler.
func (u users) WaitJob(ctx context.Context, r *connect.Request[scorev1.WaitJobRequest]) (*connect.Response[scorev1.WaitJobResponse], error) {
	job, err := u.Leader.Wait(ctx, r.Msg.GetJobId(), callerOf(ctx))
	return respond(&scorev1.WaitJobResponse{Job: job}, err)
}

// ListChannels implements JobServiceHandler.
func (u users) ListChannels(ctx context.Context, r *connect.Request[scorev1.ListChannelsRequest]) (*connect.Response[scorev1.ListChannelsResponse], error) {
	return respond(u.Leader.Channels(ctx, r.Msg, callerOf(ctx)))
}

// ListNodes implements ClusterServiceHandler.
func (u users) ListNodes(ctx context.Context, _ *connect.Request[scorev1.ListNodesRequest]) (*connect.Response[scorev1.ListNodesResponse], error) {
	return respond(u.Leader.Nodes(ctx))
}

// GetSettings implements ClusterServiceHandler.
func (u users) GetSettings(ctx context.Context, _ *connect.Request[scorev1.GetSettingsRequest]) (*connect.Response[scorev1.GetSettingsResponse], error) {
	settings, err := u.Leader.Settings(ctx)
	return respond(&scorev1.GetSettingsResponse{Settings: settings}, err)
}

// SetSettings implements ClusterServiceHandler.
func (u users) SetSettings(ctx context.Context, r *connect.Request[scorev1.SetSettingsRequest]) (*connect.Response[scorev1.SetSettingsResponse], error) {
	settings, err := u.Leader.SetSettings(ctx, r.Msg.GetSettings(), r.Msg.GetFields())
	return respond(&scorev1.SetSettingsResponse{Settings: settings}, err)
}

// SwitchMetrics implements ClusterServiceHandler.
func (u users) SwitchMetrics(_ context.Context, r *connect.Request[scorev1.SwitchMetricsRequest]) (*connect.Response[scorev1.SwitchMetricsResponse], error) {
	return connect.NewResponse(u.Switches.Response(r.Msg)), nil
}

// GetMatrix implements ClusterServiceHandler.
func (u users) GetMatrix(ctx context.Context, _ *connect.Request[scorev1.GetMatrixRequest]) (*connect.Response[scorev1.GetMatrixResponse], error) {
	return respond(u.Leader.Matrix(ctx))
}

// GetTop implements ClusterServiceHandler.
func (u users) GetTop(ctx context.Context, _ *connect.Request[scorev1.GetTopRequest]) (*connect.Response[scorev1.GetTopResponse], error) {
	top, err := u.Leader.Top(ctx)
	if err != nil {
		return nil, err
	}
	u.Switches.AddToTop(top)
	return connect.NewResponse(top), nil
}

// GetVersion implements ClusterServiceHandler.
func (u users) GetVersion(ctx context.Context, _ *connect.Request[scorev1.GetVersionRequest]) (*connect.Response[scorev1.GetVersionResponse], error) {
	version, err := u.Leader.Version(ctx)
	if err != nil {
		return nil, err
	}
	version.Program = u.Program
	return connect.NewResponse(version), nil
}
