package rpc

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"score/scored/api"
	"score/scored/api/scorev1"
	"score/scored/api/scorev1/scorev1connect"
	"slices"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"
)

func TestUsersRequests(t *testing.T) {
	c, a, id := clusterWithJob(t, "hello\n")
	ctx := t.Context()

	list, err := c.jobs.ListJobs(ctx, connect.NewRequest(&scorev1.ListJobsRequest{}))
	if err != nil || len(list.Msg.GetJobs()) != 1 {
		t.Errorf("list %v, %v", list, err)
	}
	got, err := c.jobs.GetJob(ctx, connect.NewRequest(&scorev1.GetJobRequest{JobId: id}))
	if err != nil || got.Msg.GetJob().GetUser().GetUid() != uint32(os.Getuid()) || got.Msg.GetJob().GetSpec().GetEnv() == nil {
		t.Errorf("job %v, %v", got, err)
	}
	if explained, err := c.jobs.ExplainJob(ctx, connect.NewRequest(&scorev1.ExplainJobRequest{JobId: id})); err != nil || len(explained.Msg.GetLines()) == 0 {
		t.Errorf("explained %v, %v", explained, err)
	}
	if _, err := c.jobs.SignalJob(ctx, connect.NewRequest(&scorev1.SignalJobRequest{JobId: id, Signal: 10})); err != nil {
		t.Errorf("signal: %v", err)
	}
	if nodes, err := c.service.ListNodes(ctx, connect.NewRequest(&scorev1.ListNodesRequest{})); err != nil || len(nodes.Msg.GetNodes()) != 1 {
		t.Errorf("nodes %v, %v", nodes, err)
	}
	if version, err := c.service.GetVersion(ctx, connect.NewRequest(&scorev1.GetVersionRequest{})); err != nil || version.Msg.GetVersion() != "v1" {
		t.Errorf("version %v, %v", version, err)
	}
	if matrix, err := c.service.GetMatrix(ctx, connect.NewRequest(&scorev1.GetMatrixRequest{})); err != nil || len(matrix.Msg.GetRows()) != 1 {
		t.Errorf("matrix %v, %v", matrix, err)
	}
	set := &scorev1.SetSettingsRequest{Settings: &scorev1.Settings{SliceNanos: 10e6}, Fields: []string{"slice_nanos"}}
	if settings, err := c.service.SetSettings(ctx, connect.NewRequest(set)); err != nil || settings.Msg.GetSettings().GetSliceNanos() != 10e6 {
		t.Errorf("settings %v, %v", settings, err)
	}
	if settings, err := c.service.GetSettings(
		ctx,
		connect.NewRequest(&scorev1.GetSettingsRequest{}),
	); err != nil ||
		settings.Msg.GetSettings().GetSliceNanos() != 10e6 {
		t.Errorf("settings %v, %v", settings, err)
	}
	if _, err := c.jobs.CancelJob(ctx, connect.NewRequest(&scorev1.CancelJobRequest{JobId: id})); err != nil {
		t.Errorf("cancel: %v", err)
	}
	a.done(id)
	if waited, err := c.jobs.WaitJob(ctx, connect.NewRequest(&scorev1.WaitJobRequest{JobId: id})); err != nil || waited.Msg.GetJob().GetVerdict() == nil {
		t.Errorf("waited %v, %v", waited, err)
	}
	if n := c.refused.Load(); n != 0 {
		t.Errorf("%d calls failed", n)
	}
}

func TestRefusedRequests(t *testing.T) {
	c := newCluster(t)
	c.join("n1", nil)
	ctx := t.Context()
	submit := func(change func(*scorev1.JobSpec)) error {
		spec := goodSpec()
		spec.NodeList = nil
		change(spec)
		_, err := c.jobs.Submit(ctx, connect.NewRequest(&scorev1.SubmitRequest{Spec: spec}))
		return err
	}
	cancel := func(id uint64) error {
		_, err := c.jobs.CancelJob(ctx, connect.NewRequest(&scorev1.CancelJobRequest{JobId: id}))
		return err
	}
	set := func(settings *scorev1.Settings, fields ...string) error {
		_, err := c.service.SetSettings(ctx, connect.NewRequest(&scorev1.SetSettingsRequest{Settings: settings, Fields: fields}))
		return err
	}
	tests := []struct {
		name string
		err  error
		code connect.Code
		text string
	}{
		{"bad spec", submit(func(s *scorev1.JobSpec) { s.Argv = nil }), connect.CodeInvalidArgument, "the job names no program"},
		{"more than the cluster has", submit(func(s *scorev1.JobSpec) { s.Tasks = 99 }), connect.CodeResourceExhausted, "99"},
		{"unknown node", submit(func(s *scorev1.JobSpec) { s.NodeList = []string{"n9"} }), connect.CodeResourceExhausted, "n9"},
		{"unknown excluded node", submit(func(s *scorev1.JobSpec) { s.ExcludeList = []string{"n9"} }), connect.CodeResourceExhausted, "--exclude names n9"},
		{"unknown job", cancel(99), connect.CodeNotFound, "there is no job 99"},
		{"bad setting", set(&scorev1.Settings{}, "slice_nanos"), connect.CodeInvalidArgument, "a slice of 0s"},
		{"too large", submit(func(s *scorev1.JobSpec) { s.Name = strings.Repeat("x", api.MaxUserMessage) }), connect.CodeResourceExhausted, "larger than"},
	}
	for _, test := range tests {
		if connect.CodeOf(test.err) != test.code || !strings.Contains(test.err.Error(), test.text) {
			t.Errorf("%s: %v", test.name, test.err)
		}
	}
	list, err := c.jobs.ListJobs(ctx, connect.NewRequest(&scorev1.ListJobsRequest{All: true}))
	if err != nil || len(list.Msg.GetJobs()) != 0 {
		t.Errorf("jobs %v, %v", list, err)
	}
	// A body that is too large is refused before it is parsed.
	if n := c.refused.Load(); n != int64(len(tests))-1 {
		t.Errorf("%d refusals counted", n)
	}
}

// curl can ask over the socket.
func TestPlainJSON(t *testing.T) {
	c := newCluster(t)
	client := &http.Client{Transport: &http.Transport{DialContext: c.dial}}
	defer client.CloseIdleConnections()
	response, err := client.Post("http://users/score.v1.ClusterService/GetVersion", "application/json", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil || !strings.Contains(string(body), `"version":"v1"`) {
		t.Errorf("%s, %v", body, err)
	}
}

// Text that is not UTF-8 is escaped in JSON.
func TestJSONOfTextsThatAreNotUTF8(t *testing.T) {
	c := newCluster(t)
	c.join("n1", nil)
	spec := goodSpec()
	spec.Tasks = 1
	spec.Argv, spec.WorkDir = []string{"./\xff", "g\xfcnstig"}, "/\xfe"
	id := c.submit(spec)
	got, err := c.jobs.GetJob(t.Context(), connect.NewRequest(&scorev1.GetJobRequest{JobId: id}))
	if err != nil || !slices.Equal(got.Msg.GetJob().GetSpec().GetArgv(), spec.GetArgv()) {
		t.Errorf("%v, %v", got, err)
	}
	client := &http.Client{Transport: &http.Transport{DialContext: c.dial}}
	defer client.CloseIdleConnections()
	for _, kind := range []string{"application/json", "application/json; charset=utf-8"} {
		response, err := client.Post("http://users/score.v1.JobService/GetJob", kind, strings.NewReader(fmt.Sprintf(`{"jobId": %d}`, id)))
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		var answer struct {
			Job struct {
				Spec struct {
					Argv    []string
					WorkDir string
				}
			}
		}
		err = json.NewDecoder(response.Body).Decode(&answer)
		if shown := answer.Job.Spec; err != nil || !slices.Equal(shown.Argv, []string{`./\xff`, `g\xfcnstig`}) || shown.WorkDir != `/\xfe` {
			t.Errorf("%s: %v, %v", kind, answer, err)
		}
	}
}

func TestThousandQueuedJobsAreListedQuickly(t *testing.T) {
	c := newCluster(t)
	c.join("n1", nil)
	begin := time.Now()
	for range 1000 {
		spec := goodSpec()
		spec.Tasks, spec.NodeList, spec.Detached = 2, nil, true
		for i := range 60 { // a usual environment
			spec.Env = append(spec.Env, fmt.Sprintf("VARIABLE_%d=%s", i, strings.Repeat("x", 60)))
		}
		c.submit(spec)
	}
	submitting := time.Since(begin)
	begin = time.Now()
	list, err := c.jobs.ListJobs(t.Context(), connect.NewRequest(&scorev1.ListJobsRequest{}))
	took := time.Since(begin)
	if err != nil || len(list.Msg.GetJobs()) != 1000 {
		t.Fatalf("%d jobs, %v", len(list.Msg.GetJobs()), err)
	}
	size := proto.Size(list.Msg)
	t.Logf("1000 jobs submitted in %v, listed in %v with %d bytes", submitting, took, size)
	// Each of the thousand calls is a fraction of a millisecond and more.
	if took > submitting {
		t.Errorf("1000 jobs listed in %v, submitted in %v", took, submitting)
	}
	if size > 1000*1024 {
		t.Errorf("a list of %d bytes: environments are for who asks for one job", size)
	}
}

func TestNoIdentityOverTCP(t *testing.T) {
	c := newCluster(t)
	users := NewUsers(UserOptions{Leader: c.leader, Switches: c.switches, Agents: http.DefaultClient, ExpectAgent: func(string, string) {}})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: users, ConnContext: ConnContext}
	go server.Serve(listener)
	defer server.Close()
	jobs := scorev1connect.NewJobServiceClient(http.DefaultClient, "http://"+listener.Addr().String())
	_, err = jobs.ListJobs(t.Context(), connect.NewRequest(&scorev1.ListJobsRequest{}))
	if connect.CodeOf(err) != connect.CodeUnauthenticated {
		t.Errorf("over TCP: %v", err)
	}
}
