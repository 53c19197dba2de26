package client

import (
	"context"
	"score/scored/api/jobcodec"
	"score/scored/api/scorev1"
	"score/scored/api/scorev1/scorev1connect"
	"sync"

	"connectrpc.com/connect"
)

// The generated constructors of the services' clients parse the descriptors of the whole API, a
// quarter of a millisecond that scrun would spend for each job. So they are called when a call
// needs them, and a job's own calls do without: they are made here, with package jobcodec.

// request and response abbreviate connect's types.
type (
	request[T any]  = connect.Request[T]
	response[T any] = connect.Response[T]
)

// jobs implements scorev1connect.JobServiceClient.
type jobs struct {
	submit  *connect.Client[scorev1.SubmitRequest, scorev1.SubmitResponse]
	attach  *connect.Client[scorev1.AttachRequest, scorev1.AttachEvent]
	confirm *connect.Client[scorev1.ConfirmOutputRequest, scorev1.ConfirmOutputResponse]
	// rest has all other calls.
	rest func() scorev1connect.JobServiceClient
}

func newJobs(h connect.HTTPClient, options ...connect.ClientOption) *jobs {
	all := connect.WithClientOptions(options...)
	codec := connect.WithCodec(jobcodec.Codec{})
	return &jobs{
		submit: connect.NewClient[scorev1.SubmitRequest, scorev1.SubmitResponse](
			h, baseURL+scorev1connect.JobServiceSubmitProcedure, all, codec),
		attach: connect.NewClient[scorev1.AttachRequest, scorev1.AttachEvent](
			h, baseURL+scorev1connect.JobServiceAttachProcedure, all, codec),
		confirm: connect.NewClient[scorev1.ConfirmOutputRequest, scorev1.ConfirmOutputResponse](
			h, baseURL+scorev1connect.JobServiceConfirmOutputProcedure, all, codec),
		rest: sync.OnceValue(func() scorev1connect.JobServiceClient {
			return scorev1connect.NewJobServiceClient(h, baseURL, all)
		}),
	}
}

func (j *jobs) Submit(ctx context.Context, r *request[scorev1.SubmitRequest]) (*response[scorev1.SubmitResponse], error) {
	return j.submit.CallUnary(ctx, r)
}

func (j *jobs) Attach(ctx context.Context) *connect.BidiStreamForClient[scorev1.AttachRequest, scorev1.AttachEvent] {
	return j.attach.CallBidiStream(ctx)
}

func (j *jobs) ConfirmOutput(ctx context.Context, r *request[scorev1.ConfirmOutputRequest]) (*response[scorev1.ConfirmOutputResponse], error) {
	return j.confirm.CallUnary(ctx, r)
}

func (j *jobs) ListJobs(ctx context.Context, r *request[scorev1.ListJobsRequest]) (*response[scorev1.ListJobsResponse], error) {
	return j.rest().ListJobs(ctx, r)
}

func (j *jobs) GetJob(ctx context.Context, r *request[scorev1.GetJobRequest]) (*response[scorev1.GetJobResponse], error) {
	return j.rest().GetJob(ctx, r)
}

func (j *jobs) ExplainJob(ctx context.Context, r *request[scorev1.ExplainJobRequest]) (*response[scorev1.ExplainJobResponse], error) {
	return j.rest().ExplainJob(ctx, r)
}

func (j *jobs) CancelJob(ctx context.Context, r *request[scorev1.CancelJobRequest]) (*response[scorev1.CancelJobResponse], error) {
	return j.rest().CancelJob(ctx, r)
}

func (j *jobs) SignalJob(ctx context.Context, r *request[scorev1.SignalJobRequest]) (*response[scorev1.SignalJobResponse], error) {
	return j.rest().SignalJob(ctx, r)
}

func (j *jobs) RequeueJob(ctx context.Context, r *request[scorev1.RequeueJobRequest]) (*response[scorev1.RequeueJobResponse], error) {
	return j.rest().RequeueJob(ctx, r)
}

func (j *jobs) HoldJob(ctx context.Context, r *request[scorev1.HoldJobRequest]) (*response[scorev1.HoldJobResponse], error) {
	return j.rest().HoldJob(ctx, r)
}

func (j *jobs) ReleaseJob(ctx context.Context, r *request[scorev1.ReleaseJobRequest]) (*response[scorev1.ReleaseJobResponse], error) {
	return j.rest().ReleaseJob(ctx, r)
}

func (j *jobs) WaitJob(ctx context.Context, r *request[scorev1.WaitJobRequest]) (*response[scorev1.WaitJobResponse], error) {
	return j.rest().WaitJob(ctx, r)
}

func (j *jobs) ListChannels(ctx context.Context, r *request[scorev1.ListChannelsRequest]) (*response[scorev1.ListChannelsResponse], error) {
	return j.rest().ListChannels(ctx, r)
}

func (j *jobs) DumpJob(ctx context.Context, r *request[scorev1.DumpJobRequest]) (*connect.ServerStreamForClient[scorev1.DumpPart], error) {
	return j.rest().DumpJob(ctx, r)
}

func (j *jobs) Stage(ctx context.Context) *connect.BidiStreamForClient[scorev1.StageRequest, scorev1.StageReply] {
	return j.rest().Stage(ctx)
}

func (j *jobs) ListStaged(ctx context.Context, r *request[scorev1.ListStagedRequest]) (*response[scorev1.ListStagedResponse], error) {
	return j.rest().ListStaged(ctx, r)
}

func (j *jobs) GetHistory(ctx context.Context, r *request[scorev1.GetHistoryRequest]) (*response[scorev1.GetHistoryResponse], error) {
	return j.rest().GetHistory(ctx, r)
}

// cluster implements scorev1connect.ClusterServiceClient.
type cluster func() scorev1connect.ClusterServiceClient

func newCluster(h connect.HTTPClient, options ...connect.ClientOption) cluster {
	return sync.OnceValue(func() scorev1connect.ClusterServiceClient {
		return scorev1connect.NewClusterServiceClient(h, baseURL, options...)
	})
}

func (c cluster) ListNodes(ctx context.Context, r *request[scorev1.ListNodesRequest]) (*response[scorev1.ListNodesResponse], error) {
	return c().ListNodes(ctx, r)
}

func (c cluster) DrainNode(ctx context.Context, r *request[scorev1.DrainNodeRequest]) (*response[scorev1.DrainNodeResponse], error) {
	return c().DrainNode(ctx, r)
}

func (c cluster) ResumeNode(ctx context.Context, r *request[scorev1.ResumeNodeRequest]) (*response[scorev1.ResumeNodeResponse], error) {
	return c().ResumeNode(ctx, r)
}

func (c cluster) RemoveNode(ctx context.Context, r *request[scorev1.RemoveNodeRequest]) (*response[scorev1.RemoveNodeResponse], error) {
	return c().RemoveNode(ctx, r)
}

func (c cluster) GetSettings(ctx context.Context, r *request[scorev1.GetSettingsRequest]) (*response[scorev1.GetSettingsResponse], error) {
	return c().GetSettings(ctx, r)
}

func (c cluster) SetSettings(ctx context.Context, r *request[scorev1.SetSettingsRequest]) (*response[scorev1.SetSettingsResponse], error) {
	return c().SetSettings(ctx, r)
}

func (c cluster) SwitchMetrics(ctx context.Context, r *request[scorev1.SwitchMetricsRequest]) (*response[scorev1.SwitchMetricsResponse], error) {
	return c().SwitchMetrics(ctx, r)
}

func (c cluster) GetMatrix(ctx context.Context, r *request[scorev1.GetMatrixRequest]) (*response[scorev1.GetMatrixResponse], error) {
	return c().GetMatrix(ctx, r)
}

func (c cluster) GetTop(ctx context.Context, r *request[scorev1.GetTopRequest]) (*response[scorev1.GetTopResponse], error) {
	return c().GetTop(ctx, r)
}

func (c cluster) GetVersion(ctx context.Context, r *request[scorev1.GetVersionRequest]) (*response[scorev1.GetVersionResponse], error) {
	return c().GetVersion(ctx, r)
}

func (c cluster) CreateToken(ctx context.Context, r *request[scorev1.CreateTokenRequest]) (*response[scorev1.CreateTokenResponse], error) {
	return c().CreateToken(ctx, r)
}

func (c cluster) ListTokens(ctx context.Context, r *request[scorev1.ListTokensRequest]) (*response[scorev1.ListTokensResponse], error) {
	return c().ListTokens(ctx, r)
}

func (c cluster) RemoveToken(ctx context.Context, r *request[scorev1.RemoveTokenRequest]) (*response[scorev1.RemoveTokenResponse], error) {
	return c().RemoveToken(ctx, r)
}

func (c cluster) ListCertificates(ctx context.Context, r *request[scorev1.ListCertificatesRequest]) (*response[scorev1.ListCertificatesResponse], error) {
	return c().ListCertificates(ctx, r)
}

func (c cluster) RevokeCertificates(ctx context.Context, r *request[scorev1.RevokeCertificatesRequest]) (*response[scorev1.RevokeCertificatesResponse], error) {
	return c().RevokeCertificates(ctx, r)
}

func (c cluster) ListUsers(ctx context.Context, r *request[scorev1.ListUsersRequest]) (*response[scorev1.ListUsersResponse], error) {
	return c().ListUsers(ctx, r)
}

func (c cluster) SetUser(ctx context.Context, r *request[scorev1.SetUserRequest]) (*response[scorev1.SetUserResponse], error) {
	return c().SetUser(ctx, r)
}

func (c cluster) SaveSnapshot(
	ctx context.Context,
	r *request[scorev1.SaveSnapshotRequest],
) (*connect.ServerStreamForClient[scorev1.SaveSnapshotResponse], error) {
	return c().SaveSnapshot(ctx, r)
}

func (c cluster) ListServers(ctx context.Context, r *request[scorev1.ListServersRequest]) (*response[scorev1.ListServersResponse], error) {
	return c().ListServers(ctx, r)
}

func (c cluster) RemoveServer(ctx context.Context, r *request[scorev1.RemoveServerRequest]) (*response[scorev1.RemoveServerResponse], error) {
	return c().RemoveServer(ctx, r)
}

func (c cluster) StepDown(ctx context.Context, r *request[scorev1.StepDownRequest]) (*response[scorev1.StepDownResponse], error) {
	return c().StepDown(ctx, r)
}
