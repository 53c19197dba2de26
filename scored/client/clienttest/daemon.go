// Package clienttest serves a scripted daemon on a Unix socket, for tests of
// the programs that users type. It holds no state and schedules nothing: each
// test says how its daemon answers.
//
//	socket := clienttest.Serve(t, clienttest.Daemon{
//		Submit: func(spec *scorev1.JobSpec) (uint64, error) { return 7, nil },
//		Attach: func(job *clienttest.Attachment) { job.Print(0, 1, "hello\n"); job.End(0, "") },
//	})
package clienttest

import (
	"context"
	"errors"
	"net"
	"net/http"
	"path/filepath"
	"testing"

	"connectrpc.com/connect"

	"score/scored/api/scorev1"
	"score/scored/api/scorev1/scorev1connect"
)

// Daemon is how a daemon answers. What is nil is not implemented.
type Daemon struct {
	Submit func(*scorev1.JobSpec) (uint64, error)
	// SubmitRequest, if not nil, is asked instead of Submit, and sees all of the request.
	SubmitRequest func(*scorev1.SubmitRequest) (uint64, error)

	Attach   func(*Attachment)
	GetJob   func(id uint64) (*scorev1.GetJobResponse, error)
	Cancel   func(id uint64) error
	Requeue  func(*scorev1.RequeueJobRequest) error
	Signal   func(id uint64, signal int32) error
	ListJobs func(*scorev1.ListJobsRequest) (*scorev1.ListJobsResponse, error)
	Explain  func(id uint64) (*scorev1.ExplainJobResponse, error)
	Wait     func(id uint64) (*scorev1.Job, error)
	Channels func(*scorev1.ListChannelsRequest) (*scorev1.ListChannelsResponse, error)

	History func(*scorev1.GetHistoryRequest) (*scorev1.GetHistoryResponse, error)

	// Nodes are told as of the instant Now of the cluster's clock.
	Nodes      func() []*scorev1.Node
	Now        int64
	DrainNode  func(*scorev1.DrainNodeRequest) (*scorev1.Node, error)
	ResumeNode func(name string) error
	RemoveNode func(name string) (revoked uint32, err error)

	Users    func(name string) ([]*scorev1.User, error)
	SetUser  func(*scorev1.SetUserRequest) error
	Settings func() *scorev1.Settings
	Set      func(*scorev1.SetSettingsRequest) error
	Switches func(*scorev1.SwitchMetricsRequest) *scorev1.SwitchMetricsResponse
	Matrix   func() *scorev1.GetMatrixResponse
	Dump     func(*scorev1.DumpJobRequest) ([]*scorev1.DumpPart, error)
	Top      func() (*scorev1.GetTopResponse, error)
	Version  func() *scorev1.GetVersionResponse
}

// Serve serves the daemon until the test ends, and returns its socket.
func Serve(t testing.TB, daemon Daemon) string {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "scored.sock")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle(scorev1connect.NewJobServiceHandler(jobs{daemon: daemon}))
	mux.Handle(scorev1connect.NewClusterServiceHandler(nodes{daemon: daemon}))
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	protocols.SetHTTP1(true)
	server := &http.Server{Handler: mux, Protocols: protocols}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(listener) // until Close
	}()
	t.Cleanup(func() {
		_ = server.Close()
		<-done
	})
	return socket
}

// Attachment is the daemon's end of one Attach.
type Attachment struct {
	context.Context
	// Open is what was asked for.
	Open   *scorev1.AttachRequest_Open
	stream *connect.BidiStream[scorev1.AttachRequest, scorev1.AttachEvent]
	err    error // what the call ends with
}

// Send sends any event.
func (a *Attachment) Send(event *scorev1.AttachEvent) error { return a.stream.Send(event) }

// Print sends output of a rank; stream is 1 or 2.
func (a *Attachment) Print(rank, stream uint32, text string) error {
	output := &scorev1.Output{Rank: rank, Stream: stream, Data: []byte(text)}
	return a.Send(&scorev1.AttachEvent{Event: &scorev1.AttachEvent_Output{Output: output}})
}

// EOF ends a stream of a rank.
func (a *Attachment) EOF(rank, stream uint32) error {
	output := &scorev1.Output{Rank: rank, Stream: stream, Eof: true}
	return a.Send(&scorev1.AttachEvent{Event: &scorev1.AttachEvent_Output{Output: output}})
}

// Warn sends a warning.
func (a *Attachment) Warn(text string) error {
	return a.Send(&scorev1.AttachEvent{Event: &scorev1.AttachEvent_Warning{Warning: text}})
}

// State sends a change of the job's state.
func (a *Attachment) State(state scorev1.JobState, places ...*scorev1.NodePlace) error {
	change := &scorev1.AttachEvent_StateChange{State: state, Places: places}
	return a.Send(&scorev1.AttachEvent{Event: &scorev1.AttachEvent_State{State: change}})
}

// End sends the verdict.
func (a *Attachment) End(code int32, message string) error {
	verdict := &scorev1.Verdict{ExitCode: code, Message: message}
	return a.Send(&scorev1.AttachEvent{Event: &scorev1.AttachEvent_Ended{Ended: verdict}})
}

// Fail makes the call end with an error.
func (a *Attachment) Fail(code connect.Code, message string) {
	a.err = connect.NewError(code, errors.New(message))
}

// FailUndecided makes the call end as where no server can decide.
func (a *Attachment) FailUndecided() { a.err = Undecided() }

// Undecided is the answer of servers without a majority.
func Undecided() error {
	err := connect.NewError(connect.CodeUnavailable, errors.New("the cluster can decide nothing now"))
	err.Meta().Set("Score-Unchanged", "yes")
	return err
}

// Stdin waits for the next piece of input; nil when the client is gone.
func (a *Attachment) Stdin() *scorev1.Stdin {
	for {
		request, err := a.stream.Receive()
		if err != nil {
			return nil
		}
		if input := request.GetStdin(); input != nil {
			return input
		}
	}
}

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

// nodes implements the service of the cluster.
type nodes struct {
	scorev1connect.UnimplementedClusterServiceHandler
	daemon Daemon
}

func (n nodes) ListNodes(ctx context.Context, r *connect.Request[scorev1.ListNodesRequest]) (*connect.Response[scorev1.ListNodesResponse], error) {
	if n.daemon.Nodes == nil {
		return n.UnimplementedClusterServiceHandler.ListNodes(ctx, r)
	}
	return reply(&scorev1.ListNodesResponse{Nodes: n.daemon.Nodes(), NowNanos: n.daemon.Now}, nil)
}

func (n nodes) DrainNode(ctx context.Context, r *connect.Request[scorev1.DrainNodeRequest]) (*connect.Response[scorev1.DrainNodeResponse], error) {
	if n.daemon.DrainNode == nil {
		return n.UnimplementedClusterServiceHandler.DrainNode(ctx, r)
	}
	node, err := n.daemon.DrainNode(r.Msg)
	return reply(&scorev1.DrainNodeResponse{Node: node}, err)
}

func (n nodes) ResumeNode(ctx context.Context, r *connect.Request[scorev1.ResumeNodeRequest]) (*connect.Response[scorev1.ResumeNodeResponse], error) {
	if n.daemon.ResumeNode == nil {
		return n.UnimplementedClusterServiceHandler.ResumeNode(ctx, r)
	}
	return reply(&scorev1.ResumeNodeResponse{}, n.daemon.ResumeNode(r.Msg.GetNode()))
}

func (n nodes) RemoveNode(ctx context.Context, r *connect.Request[scorev1.RemoveNodeRequest]) (*connect.Response[scorev1.RemoveNodeResponse], error) {
	if n.daemon.RemoveNode == nil {
		return n.UnimplementedClusterServiceHandler.RemoveNode(ctx, r)
	}
	revoked, err := n.daemon.RemoveNode(r.Msg.GetNode())
	return reply(&scorev1.RemoveNodeResponse{Revoked: revoked}, err)
}

func (n nodes) ListUsers(ctx context.Context, r *connect.Request[scorev1.ListUsersRequest]) (*connect.Response[scorev1.ListUsersResponse], error) {
	if n.daemon.Users == nil {
		return n.UnimplementedClusterServiceHandler.ListUsers(ctx, r)
	}
	users, err := n.daemon.Users(r.Msg.GetUser())
	return reply(&scorev1.ListUsersResponse{Users: users}, err)
}

func (n nodes) SetUser(ctx context.Context, r *connect.Request[scorev1.SetUserRequest]) (*connect.Response[scorev1.SetUserResponse], error) {
	if n.daemon.SetUser == nil {
		return n.UnimplementedClusterServiceHandler.SetUser(ctx, r)
	}
	return reply(&scorev1.SetUserResponse{}, n.daemon.SetUser(r.Msg))
}

func (n nodes) GetSettings(ctx context.Context, r *connect.Request[scorev1.GetSettingsRequest]) (*connect.Response[scorev1.GetSettingsResponse], error) {
	if n.daemon.Settings == nil {
		return n.UnimplementedClusterServiceHandler.GetSettings(ctx, r)
	}
	return reply(&scorev1.GetSettingsResponse{Settings: n.daemon.Settings()}, nil)
}

func (n nodes) SetSettings(ctx context.Context, r *connect.Request[scorev1.SetSettingsRequest]) (*connect.Response[scorev1.SetSettingsResponse], error) {
	if n.daemon.Set == nil {
		return n.UnimplementedClusterServiceHandler.SetSettings(ctx, r)
	}
	return reply(&scorev1.SetSettingsResponse{Settings: r.Msg.GetSettings()}, n.daemon.Set(r.Msg))
}

func (n nodes) SwitchMetrics(ctx context.Context, r *connect.Request[scorev1.SwitchMetricsRequest]) (*connect.Response[scorev1.SwitchMetricsResponse], error) {
	if n.daemon.Switches == nil {
		return n.UnimplementedClusterServiceHandler.SwitchMetrics(ctx, r)
	}
	return reply(n.daemon.Switches(r.Msg), nil)
}

func (n nodes) GetMatrix(ctx context.Context, r *connect.Request[scorev1.GetMatrixRequest]) (*connect.Response[scorev1.GetMatrixResponse], error) {
	if n.daemon.Matrix == nil {
		return n.UnimplementedClusterServiceHandler.GetMatrix(ctx, r)
	}
	return reply(n.daemon.Matrix(), nil)
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

func (n nodes) GetTop(ctx context.Context, r *connect.Request[scorev1.GetTopRequest]) (*connect.Response[scorev1.GetTopResponse], error) {
	if n.daemon.Top == nil {
		return n.UnimplementedClusterServiceHandler.GetTop(ctx, r)
	}
	return reply(n.daemon.Top())
}

func (n nodes) GetVersion(ctx context.Context, r *connect.Request[scorev1.GetVersionRequest]) (*connect.Response[scorev1.GetVersionResponse], error) {
	if n.daemon.Version == nil {
		return n.UnimplementedClusterServiceHandler.GetVersion(ctx, r)
	}
	return reply(n.daemon.Version(), nil)
}

func reply[T any](message *T, err error) (*connect.Response[T], error) {
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(message), nil
}
