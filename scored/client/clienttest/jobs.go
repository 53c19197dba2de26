package clienttest

import (
	"context"
	"score/scored/api/scorev1"
	"score/scored/api/scorev1/scorev1connect"

	"connectrpc.com/connect"
)

// jobs implements the service of jobs.
type jobs struct {
	scorev1connect.UnimplementedJobServiceHandler
	daemon Daemon
}

func (j jobs) Submit(ctx context.Context, r *connect.Request[scorev1.SubmitRequest]) (*connect.Response[scorev1.SubmitResponse], error) {
	if j.daemon.SubmitRequest != nil {
		id, err := j.daemon.SubmitRequest(r.Msg)
		return reply(&scorev1.SubmitResponse{JobId: id}, err)
	}
	if j.daemon.Submit == nil {
		return j.UnimplementedJobServiceHandler.Submit(ctx, r)
	}
	id, err := j.daemon.Submit(r.Msg.GetSpec())
	return reply(&scorev1.SubmitResponse{JobId: id}, err)
}

func (j jobs) Attach(ctx context.Context, stream *connect.BidiStream[scorev1.AttachRequest, scorev1.AttachEvent]) error {
	if j.daemon.Attach == nil {
		return j.UnimplementedJobServiceHandler.Attach(ctx, stream)
	}
	first, err := stream.Receive()
	if err != nil {
		return err
	}
	attachment := &Attachment{Context: ctx, Open: first.GetOpen(), stream: stream}
	j.daemon.Attach(attachment)
	return attachment.err
}

func (j jobs) GetJob(ctx context.Context, r *connect.Request[scorev1.GetJobRequest]) (*connect.Response[scorev1.GetJobResponse], error) {
	if j.daemon.GetJob == nil {
		return j.UnimplementedJobServiceHandler.GetJob(ctx, r)
	}
	return reply(j.daemon.GetJob(r.Msg.GetJobId()))
}

func (j jobs) ListJobs(ctx context.Context, r *connect.Request[scorev1.ListJobsRequest]) (*connect.Response[scorev1.ListJobsResponse], error) {
	if j.daemon.ListJobs == nil {
		return j.UnimplementedJobServiceHandler.ListJobs(ctx, r)
	}
	return reply(j.daemon.ListJobs(r.Msg))
}

func (j jobs) ListChannels(ctx context.Context, r *connect.Request[scorev1.ListChannelsRequest]) (*connect.Response[scorev1.ListChannelsResponse], error) {
	if j.daemon.Channels == nil {
		return j.UnimplementedJobServiceHandler.ListChannels(ctx, r)
	}
	return reply(j.daemon.Channels(r.Msg))
}

func (j jobs) ExplainJob(ctx context.Context, r *connect.Request[scorev1.ExplainJobRequest]) (*connect.Response[scorev1.ExplainJobResponse], error) {
	if j.daemon.Explain == nil {
		return j.UnimplementedJobServiceHandler.ExplainJob(ctx, r)
	}
	return reply(j.daemon.Explain(r.Msg.GetJobId()))
}

func (j jobs) RequeueJob(ctx context.Context, r *connect.Request[scorev1.RequeueJobRequest]) (*connect.Response[scorev1.RequeueJobResponse], error) {
	if j.daemon.Requeue == nil {
		return j.UnimplementedJobServiceHandler.RequeueJob(ctx, r)
	}
	return reply(&scorev1.RequeueJobResponse{}, j.daemon.Requeue(r.Msg))
}

func (j jobs) HoldJob(ctx context.Context, r *connect.Request[scorev1.HoldJobRequest]) (*connect.Response[scorev1.HoldJobResponse], error) {
	if j.daemon.Hold == nil {
		return j.UnimplementedJobServiceHandler.HoldJob(ctx, r)
	}
	return reply(&scorev1.HoldJobResponse{}, j.daemon.Hold(r.Msg.GetJobId()))
}

func (j jobs) ReleaseJob(ctx context.Context, r *connect.Request[scorev1.ReleaseJobRequest]) (*connect.Response[scorev1.ReleaseJobResponse], error) {
	if j.daemon.Release == nil {
		return j.UnimplementedJobServiceHandler.ReleaseJob(ctx, r)
	}
	return reply(&scorev1.ReleaseJobResponse{}, j.daemon.Release(r.Msg.GetJobId()))
}

func (j jobs) CancelJob(ctx context.Context, r *connect.Request[scorev1.CancelJobRequest]) (*connect.Response[scorev1.CancelJobResponse], error) {
	if j.daemon.Cancel == nil {
		return j.UnimplementedJobServiceHandler.CancelJob(ctx, r)
	}
	return reply(&scorev1.CancelJobResponse{}, j.daemon.Cancel(r.Msg.GetJobId()))
}

func (j jobs) SignalJob(ctx context.Context, r *connect.Request[scorev1.SignalJobRequest]) (*connect.Response[scorev1.SignalJobResponse], error) {
	if j.daemon.Signal == nil {
		return j.UnimplementedJobServiceHandler.SignalJob(ctx, r)
	}
	return reply(&scorev1.SignalJobResponse{}, j.daemon.Signal(r.Msg.GetJobId(), r.Msg.GetSignal()))
}

func (j jobs) WaitJob(ctx context.Context, r *connect.Request[scorev1.WaitJobRequest]) (*connect.Response[scorev1.WaitJobResponse], error) {
	if j.daemon.Wait == nil {
		return j.UnimplementedJobServiceHandler.WaitJob(ctx, r)
	}
	job, err := j.daemon.Wait(r.Msg.GetJobId())
	return reply(&scorev1.WaitJobResponse{Job: job}, err)
}

func (j jobs) GetHistory(ctx context.Context, r *connect.Request[scorev1.GetHistoryRequest]) (*connect.Response[scorev1.GetHistoryResponse], error) {
	if j.daemon.History == nil {
		return j.UnimplementedJobServiceHandler.GetHistory(ctx, r)
	}
	return reply(j.daemon.History(r.Msg))
}

func (j jobs) DumpJob(ctx context.Context, r *connect.Request[scorev1.DumpJobRequest], stream *connect.ServerStream[scorev1.DumpPart]) error {
	if j.daemon.Dump == nil {
		return j.UnimplementedJobServiceHandler.DumpJob(ctx, r, stream)
	}
	parts, err := j.daemon.Dump(r.Msg)
	for _, part := range parts {
		if err := stream.Send(part); err != nil {
			return err
		}
	}
	return err
}

func (j jobs) ListStaged(ctx context.Context, r *connect.Request[scorev1.ListStagedRequest]) (*connect.Response[scorev1.ListStagedResponse], error) {
	if j.daemon.Staged == nil {
		return j.UnimplementedJobServiceHandler.ListStaged(ctx, r)
	}
	return reply(j.daemon.Staged(r.Msg), nil)
}
