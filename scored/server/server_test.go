package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"score/scored/api/agentpb"
	"score/scored/api/agentpb/agentpbconnect"
	"score/scored/api/identity/pki"
	"score/scored/api/identity/pki/pkitest"
	"score/scored/api/scorev1"
	"score/scored/api/scorev1/scorev1connect"
	"score/scored/api/transport/h2"
	"score/scored/replica"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
)

// patience bounds the waits of the tests.
const patience = 60 * time.Second

func options(t *testing.T) Options {
	t.Helper()
	dir := t.TempDir()
	return Options{
		UserSocket: filepath.Join(dir, "run", "user.sock"), AgentListen: "127.0.0.1:0",
		ClusterKey: "key", ClusterName: "lab", Version: "v1",
	}
}

// start runs a server until the test or the returned function ends it. The server must stop without
// waiting for open calls.
func start(t testing.TB, o Options) (s *Server, stop func()) {
	t.Helper()
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	for i := range s.endpoints {
		s.endpoints[i].drain = time.Hour
	}
	ctx, cancel := context.WithCancel(context.Background())
	over := make(chan error, 1)
	go func() { over <- s.Run(ctx) }()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		select {
		case err := <-over:
			if err != nil {
				t.Errorf("Run: %v", err)
			}
		case <-time.After(patience):
			t.Error("the server does not stop")
		}
	}
	t.Cleanup(stop)
	select {
	case <-s.Ready():
	case <-time.After(patience):
		t.Fatal("the server does not lead")
	}
	return s, stop
}

func users(t testing.TB, socket string) (scorev1connect.JobServiceClient, scorev1connect.ClusterServiceClient) {
	t.Helper()
	transport := h2.NewTransport(nil)
	transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}
	t.Cleanup(transport.CloseIdleConnections)
	client := &http.Client{Transport: transport}
	return scorev1connect.NewJobServiceClient(client, "http://users"), scorev1connect.NewClusterServiceClient(client, "http://users")
}

// joinNode connects the agent of node n1, which does nothing.
func joinNode(t *testing.T, s *Server) (leave func()) {
	t.Helper()
	client := h2.NewClientWithDialer(s.DialAgents, pkitest.FromKey(t, "key", "lab", pki.Agent, "n1"), pki.Server)
	ctx, cancel := context.WithCancel(context.Background())
	stream := agentpbconnect.NewAgentServiceClient(client, s.AgentURL()).Connect(ctx)
	leave = func() {
		cancel()
		_ = stream.CloseRequest()
		_ = stream.CloseResponse()
		client.CloseIdleConnections()
	}
	t.Cleanup(leave)
	hello := &agentpb.Hello{Cluster: "lab", Node: "n1", Address: "127.0.0.1:1", Version: "v1", Cpus: 1, MemoryBytes: 1 << 30, BootId: "b"}
	if err := stream.Send(&agentpb.AgentMessage{Message: &agentpb.AgentMessage_Hello{Hello: hello}}); err != nil {
		t.Fatal(err)
	}
	if m, err := stream.Receive(); err != nil || m.GetWelcome() == nil {
		t.Fatalf("%v, %v", m, err)
	}
	return leave
}

func detached() *connect.Request[scorev1.SubmitRequest] {
	return connect.NewRequest(&scorev1.SubmitRequest{Spec: &scorev1.JobSpec{
		Argv: []string{"a.out"}, WorkDir: "/", Tasks: 1, Detached: true, StdoutPattern: "o",
	}})
}

func TestServerInMemory(t *testing.T) {
	o := options(t)
	o.MetricsAddress = "127.0.0.1:0"
	s, stop := start(t, o)
	jobs, service := users(t, o.UserSocket)
	ctx := t.Context()
	if _, err := jobs.Submit(ctx, detached()); connect.CodeOf(err) != connect.CodeResourceExhausted || !strings.Contains(err.Error(), "has none yet") {
		t.Errorf("without nodes: %v", err)
	}
	joinNode(t, s)
	if err := s.WaitForNodes(ctx, 1); err != nil {
		t.Fatal(err)
	}
	if _, err := jobs.Submit(ctx, detached()); err != nil {
		t.Errorf("with a node: %v", err)
	}
	if version, err := service.GetVersion(ctx, connect.NewRequest(&scorev1.GetVersionRequest{})); err != nil || version.Msg.GetJobsRunning() != 1 {
		t.Errorf("version %v, %v", version, err)
	}
	response, err := http.Get("http://" + s.MetricsAddress() + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil || !strings.Contains(string(body), "score_nodes_up 1") || !strings.Contains(string(body), "score_commit_seconds_count") {
		t.Errorf("metrics %s, %v", body, err)
	}
	stop()
	if _, err := os.Stat(o.UserSocket); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket is left: %v", err)
	}
}

func TestAgentsOverAUnixSocket(t *testing.T) {
	o := options(t)
	path := filepath.Join(t.TempDir(), "agents.sock")
	o.AgentListen = UnixPrefix + path
	s, _ := start(t, o)
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("socket %v, %v", info, err)
	}
	if info, err := os.Stat(o.UserSocket); err != nil || info.Mode().Perm() != 0o666 {
		t.Errorf("users' socket %v, %v", info, err)
	}
	joinNode(t, s)
	if err := s.WaitForNodes(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if err := s.WaitForNodes(ctx, 2); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("waiting for a node that does not come: %v", err)
	}
}

func TestStateOutlivesTheServer(t *testing.T) {
	o := options(t)
	o.DataDir = filepath.Join(t.TempDir(), "data")
	o.Settings = &scorev1.Settings{SliceNanos: 30e6, MaxRows: 2}
	s, stop := start(t, o)
	leave := joinNode(t, s)
	jobs, _ := users(t, o.UserSocket)
	for want := uint64(1); want <= 3; want++ {
		if r, err := jobs.Submit(t.Context(), detached()); err != nil || r.Msg.GetJobId() != want {
			t.Fatalf("job %v, %v", r, err)
		}
	}
	leave()
	stop()

	o.Settings.SliceNanos = 70e6 // only for new clusters
	s, _ = start(t, o)
	jobs, service := users(t, o.UserSocket)
	list, err := jobs.ListJobs(t.Context(), connect.NewRequest(&scorev1.ListJobsRequest{}))
	if err != nil || len(list.Msg.GetJobs()) != 3 {
		t.Fatalf("jobs %v, %v", list, err)
	}
	settings, err := service.GetSettings(t.Context(), connect.NewRequest(&scorev1.GetSettingsRequest{}))
	if err != nil || settings.Msg.GetSettings().GetSliceNanos() != 30e6 {
		t.Errorf("settings %v, %v", settings, err)
	}
	nodes, err := service.ListNodes(t.Context(), connect.NewRequest(&scorev1.ListNodesRequest{}))
	if err != nil || len(nodes.Msg.GetNodes()) != 1 || nodes.Msg.GetNodes()[0].GetUp() {
		t.Errorf("nodes %v, %v", nodes, err)
	}
	joinNode(t, s)
	if r, err := jobs.Submit(t.Context(), detached()); err != nil || r.Msg.GetJobId() != 4 {
		t.Errorf("job %v, %v", r, err)
	}
}

func TestSecondServers(t *testing.T) {
	o := options(t)
	o.DataDir = filepath.Join(t.TempDir(), "data")
	s, _ := start(t, o)
	tests := []struct {
		name   string
		change func(*Options)
		want   error
		text   string
	}{
		{"same data", func(*Options) {}, replica.ErrInUse, fmt.Sprintf("another server (process %d) uses", os.Getpid())},
		{"same socket", func(o *Options) { o.DataDir = "" }, ErrListen, "another daemon answers on socket = "},
		{"same address", func(o *Options) {
			o.DataDir, o.UserSocket, o.AgentListen = "", "", strings.TrimPrefix(s.AgentURL(), "https://")
		}, ErrListen, "is taken by another process; stop it, or choose another port"},
		{"file in the way", func(o *Options) {
			o.DataDir, o.UserSocket = "", filepath.Join(t.TempDir(), "file")
			if err := os.WriteFile(o.UserSocket, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}, ErrListen, "exists and is not a socket"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			second := o
			test.change(&second)
			_, err := New(second)
			if !errors.Is(err, test.want) || !strings.Contains(err.Error(), test.text) {
				t.Errorf("error %v", err)
			}
		})
	}
	jobs, _ := users(t, o.UserSocket)
	if _, err := jobs.ListJobs(t.Context(), connect.NewRequest(&scorev1.ListJobsRequest{})); err != nil {
		t.Errorf("the first server suffers: %v", err)
	}
}

func TestSocketOfADeadServerIsReplaced(t *testing.T) {
	o := options(t)
	if err := os.MkdirAll(filepath.Dir(o.UserSocket), 0o755); err != nil {
		t.Fatal(err)
	}
	dead, err := net.Listen("unix", o.UserSocket)
	if err != nil {
		t.Fatal(err)
	}
	dead.(*net.UnixListener).SetUnlinkOnClose(false)
	if err := dead.Close(); err != nil {
		t.Fatal(err)
	}
	start(t, o)
}

func TestServerThatIsNeverRun(t *testing.T) {
	o := options(t)
	o.DataDir = filepath.Join(t.TempDir(), "data")
	for range 2 { // the second finds everything free
		s, err := New(o)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestStopEndsStreams(t *testing.T) {
	o := options(t)
	s, stop := start(t, o)
	joinNode(t, s)
	jobs, _ := users(t, o.UserSocket)
	r, err := jobs.Submit(t.Context(), detached())
	if err != nil {
		t.Fatal(err)
	}
	stream := jobs.Attach(t.Context())
	open := &scorev1.AttachRequest_Open{JobId: r.Msg.GetJobId()}
	if err := stream.Send(&scorev1.AttachRequest{Request: &scorev1.AttachRequest_Open_{Open: open}}); err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Receive(); err != nil {
		t.Fatal(err)
	}
	stop()
	for err == nil {
		_, err = stream.Receive()
	}
	if errors.Is(err, io.EOF) {
		t.Error("the stream ended as if the job had")
	}
}
