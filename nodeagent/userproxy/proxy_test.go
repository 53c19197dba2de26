package userproxy

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"score/scored/api"
	"score/scored/api/identity/pki"
	"score/scored/api/identity/pki/pkitest"
	"score/scored/api/scorev1"
	"score/scored/api/scorev1/scorev1connect"
	"score/scored/api/transport/h2"
	"score/tests/await"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"connectrpc.com/connect"
	"go.uber.org/zap"
	"golang.org/x/sys/unix"
)

// server is one of the cluster's, which takes whatever comes.
type server struct {
	scorev1connect.UnimplementedJobServiceHandler
	name    string
	address string
	http    *http.Server
	headers chan http.Header
}

func startServer(t *testing.T, c pkitest.Cluster, role pki.Role, name string) *server {
	t.Helper()
	s := &server{name: name, headers: make(chan http.Header, 1)}
	mux := http.NewServeMux()
	mux.Handle(scorev1connect.NewJobServiceHandler(s))
	raw, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	config := c.Daemon(t, role, name).Server(pki.Agent)
	config.NextProtos = []string{h2.Protocol}
	s.http, s.address = h2.NewServer(mux), raw.Addr().String()
	s.http.ErrorLog = log.New(io.Discard, "", 0)
	go s.http.Serve(tls.NewListener(raw, config))
	t.Cleanup(func() { s.http.Close() })
	return s
}

func (s *server) url() string { return "https://" + s.address }

// CancelJob implements JobServiceHandler.
func (s *server) CancelJob(_ context.Context, r *connect.Request[scorev1.CancelJobRequest]) (*connect.Response[scorev1.CancelJobResponse], error) {
	s.headers <- r.Header().Clone()
	return connect.NewResponse(new(scorev1.CancelJobResponse)), nil
}

// Submit implements JobServiceHandler.
func (s *server) Submit(_ context.Context, r *connect.Request[scorev1.SubmitRequest]) (*connect.Response[scorev1.SubmitResponse], error) {
	s.headers <- r.Header().Clone()
	return connect.NewResponse(new(scorev1.SubmitResponse)), nil
}

// Attach implements JobServiceHandler: it says what it hears, until the first signal.
func (s *server) Attach(_ context.Context, stream *connect.BidiStream[scorev1.AttachRequest, scorev1.AttachEvent]) error {
	for {
		said, err := stream.Receive()
		if err != nil {
			return err
		}
		if said.GetSignal() != 0 {
			return stream.Send(&scorev1.AttachEvent{Event: &scorev1.AttachEvent_Ended{Ended: &scorev1.Verdict{ExitCode: said.GetSignal()}}})
		}
		output := &scorev1.Output{Data: append([]byte(s.name+": "), said.GetStdin().GetData()...)}
		if err := stream.Send(&scorev1.AttachEvent{Event: &scorev1.AttachEvent_Output{Output: output}}); err != nil {
			return err
		}
	}
}

// openProxy runs a proxy to these servers until the test or the returned function ends it.
func openProxy(t *testing.T, c pkitest.Cluster, path string, servers Servers) (stop func()) {
	t.Helper()
	proxy := New(Options{Socket: path, Credentials: c.Daemon(t, pki.Agent, "n1"), Servers: servers, Logger: zap.NewNop()})
	ctx, cancel := context.WithCancel(context.Background())
	over := make(chan struct{})
	go func() { defer close(over); proxy.Run(ctx) }()
	stop = sync.OnceFunc(func() { cancel(); <-over })
	t.Cleanup(stop)
	return stop
}

// dial waits until somebody listens.
func dial(t *testing.T, path string) (conn net.Conn) {
	t.Helper()
	await.That(t, "a connection to "+path, func() (ok bool) {
		var err error
		conn, err = net.Dial("unix", path)
		return err == nil
	})
	t.Cleanup(func() { conn.Close() })
	return conn
}

func jobs(t *testing.T, path string) (scorev1connect.JobServiceClient, *http.Client) {
	t.Helper()
	dial(t, path).Close()
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	transport := &http.Transport{Protocols: protocols, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", path)
	}}
	t.Cleanup(transport.CloseIdleConnections)
	client := &http.Client{Transport: api.WholeMessages(transport)}
	return scorev1connect.NewJobServiceClient(client, "http://agent"), client
}

// TestWhoCalls: a server hears the number of the user whom the kernel tells, and nothing that the
// caller says of itself.
func TestWhoCalls(t *testing.T) {
	c, path := pkitest.New(t, "c1"), filepath.Join(t.TempDir(), "s")
	s := startServer(t, c, pki.Server, "s1")
	openProxy(t, c, path, newCluster(s.url()))
	client, _ := jobs(t, path)
	request := connect.NewRequest(&scorev1.CancelJobRequest{JobId: 1})
	for _, name := range []string{
		api.ForUID, "score-for-uid", "Score-For-User", "Score-For-Daemon",
		"Score-For-Agents-User", "Authorization", "Cookie", "Forwarded",
	} {
		request.Header().Set(name, "0")
	}
	if _, err := client.CancelJob(t.Context(), request); err != nil {
		t.Fatal(err)
	}
	heard := <-s.headers
	if said := heard.Values(api.ForUID); len(said) != 1 || said[0] != strconv.Itoa(os.Getuid()) {
		t.Errorf("the server heard of user %q", said)
	}
	for name := range heard {
		if strings.HasPrefix(name, "Score-") && name != api.ForUID || name == "Authorization" || name == "Cookie" || name == "Forwarded" {
			t.Errorf("the server heard %s: %q", name, heard[name])
		}
	}
}

// TestWhoseLimits: with a submission a server hears the resource limits of the process that calls,
// as the kernel tells.
func TestWhoseLimits(t *testing.T) {
	c, path := pkitest.New(t, "c1"), filepath.Join(t.TempDir(), "s")
	s := startServer(t, c, pki.Server, "s1")
	openProxy(t, c, path, newCluster(s.url()))
	client, _ := jobs(t, path)
	request := connect.NewRequest(&scorev1.SubmitRequest{})
	request.Header().Set(api.ForLimits, "7=18446744073709551615:18446744073709551615")
	if _, err := client.Submit(t.Context(), request); err != nil {
		t.Fatal(err)
	}
	heard, err := api.ParseLimits(strings.Join((<-s.headers).Values(api.ForLimits), " and "))
	if err != nil || len(heard) != api.ResourceLimits {
		t.Fatalf("the server heard %v, %v", heard, err)
	}
	var own unix.Rlimit
	if err := unix.Prlimit(0, unix.RLIMIT_NOFILE, nil, &own); err != nil {
		t.Fatal(err)
	}
	if files := heard[unix.RLIMIT_NOFILE]; files.GetSoft() != own.Cur || files.GetHard() != own.Max {
		t.Errorf("the server heard %v, the limit is %+v", files, own)
	}
}

// TestStream: both directions of a stream go on as they come, and one whose server is lost ends
// with an error that says so.
func TestStream(t *testing.T) {
	c, path := pkitest.New(t, "c1"), filepath.Join(t.TempDir(), "s")
	s := startServer(t, c, pki.Server, "s1")
	openProxy(t, c, path, newCluster(s.url()))
	client, _ := jobs(t, path)
	say := func(stream *connect.BidiStreamForClient[scorev1.AttachRequest, scorev1.AttachEvent], text string) {
		t.Helper()
		if err := stream.Send(&scorev1.AttachRequest{Request: &scorev1.AttachRequest_Stdin{Stdin: &scorev1.Stdin{Data: []byte(text)}}}); err != nil {
			t.Fatal(err)
		}
		event, err := stream.Receive()
		if err != nil || string(event.GetOutput().GetData()) != "s1: "+text {
			t.Fatalf("%v, %v", event, err)
		}
	}
	stream := client.Attach(t.Context())
	for i := range 5 {
		say(stream, fmt.Sprint("line ", i))
	}
	say(stream, string(bytes.Repeat([]byte("x"), 1<<20)))
	if err := stream.Send(&scorev1.AttachRequest{Request: &scorev1.AttachRequest_Signal{Signal: 7}}); err != nil {
		t.Fatal(err)
	}
	if event, err := stream.Receive(); err != nil || event.GetEnded().GetExitCode() != 7 {
		t.Errorf("%v, %v", event, err)
	}
	if _, err := stream.Receive(); !errors.Is(err, io.EOF) {
		t.Errorf("after the end: %v", err)
	}
	broken := client.Attach(t.Context())
	say(broken, "hello")
	s.http.Close()
	if _, err := broken.Receive(); connect.CodeOf(err) != connect.CodeUnavailable || !strings.Contains(err.Error(), "attach again") {
		t.Errorf("of a server that was lost: %v", err)
	}
}

// TestOnlyServers: nothing goes to one that shows another certificate than a server's of this
// cluster.
func TestOnlyServers(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for seconds; run without -short")
	}
	c, path := pkitest.New(t, "c1"), filepath.Join(t.TempDir(), "s")
	agent, foreign := startServer(t, c, pki.Agent, "n2"), startServer(t, pkitest.New(t, "c1"), pki.Server, "s1")
	openProxy(t, c, path, newCluster(agent.url(), foreign.url()))
	client, _ := jobs(t, path)
	_, err := client.CancelJob(t.Context(), connect.NewRequest(&scorev1.CancelJobRequest{JobId: 1}))
	if failure, ok := errors.AsType[*connect.Error](
		err,
	); !ok || failure.Meta().Get(api.Unchanged) == "" ||
		!strings.Contains(err.Error(), "reaches none of the cluster's servers") {
		t.Errorf("%v", err)
	}
	if len(agent.headers)+len(foreign.headers) > 0 {
		t.Error("a call came to one that is no server")
	}
}

// TestLargeRequest: a request of 100 MB is refused, and no server hears of it.
func TestLargeRequest(t *testing.T) {
	c, path := pkitest.New(t, "c1"), filepath.Join(t.TempDir(), "s")
	s := startServer(t, c, pki.Server, "s1")
	openProxy(t, c, path, newCluster(s.url()))
	_, client := jobs(t, path)
	var read atomic.Int64
	body := io.TeeReader(io.LimitReader(zeros{}, 100<<20), counter{&read})
	response, err := client.Post("http://agent"+scorev1connect.JobServiceCancelJobProcedure, unary, io.NopCloser(body))
	if err == nil {
		defer response.Body.Close()
		if response.StatusCode != http.StatusTooManyRequests {
			t.Errorf("status %d", response.StatusCode)
		}
	}
	if read.Load() > 50<<20 || len(s.headers) > 0 {
		t.Errorf("%d bytes were read", read.Load())
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

type counter struct{ bytes *atomic.Int64 }

func (c counter) Write(p []byte) (int, error) { c.bytes.Add(int64(len(p))); return len(p), nil }

// TestSilentClients: a thousand clients that connect and say nothing keep nobody out.
func TestSilentClients(t *testing.T) {
	c, path := pkitest.New(t, "c1"), filepath.Join(t.TempDir(), "s")
	s := startServer(t, c, pki.Server, "s1")
	openProxy(t, c, path, newCluster(s.url()))
	for range 1000 {
		dial(t, path)
	}
	client, _ := jobs(t, path)
	if _, err := client.CancelJob(t.Context(), connect.NewRequest(&scorev1.CancelJobRequest{JobId: 1})); err != nil {
		t.Error(err)
	}
}

// TestOneOfSeveralAgents: of the agents of a host one has the socket, another takes it when that
// ends, also one that was killed, and nothing is left in the end.
func TestOneOfSeveralAgents(t *testing.T) {
	c, dir := pkitest.New(t, "c1"), t.TempDir()
	path := filepath.Join(dir, "s")
	dead, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	dead.SetUnlinkOnClose(false)
	dead.Close()
	first, second := startServer(t, c, pki.Server, "s1"), startServer(t, c, pki.Server, "s2")
	stopFirst := openProxy(t, c, path, newCluster(first.url()))
	ask := func(s *server) {
		t.Helper()
		client, _ := jobs(t, path)
		if _, err := client.CancelJob(t.Context(), connect.NewRequest(&scorev1.CancelJobRequest{JobId: 1})); err != nil || len(s.headers) != 1 {
			t.Fatalf("%v, %d calls came to %s", err, len(s.headers), s.name)
		}
		<-s.headers
	}
	ask(first)
	stopSecond := openProxy(t, c, path, newCluster(second.url()))
	ask(first)
	stopFirst()
	ask(second)
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o666 {
		t.Errorf("%v, %v", info, err)
	}
	stopSecond()
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// FuzzCall shows the proxy what is no HTTP, or odd: the next caller is served all the same.
func FuzzCall(f *testing.F) {
	f.Add("POST /score.v1.JobService/ListJobs HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nScore-For-Uid: 0\r\nContent-Length: 2\r\n\r\n{}")
	f.Add("GET / HTTP/1.1\r\n\r\n")
	f.Fuzz(func(t *testing.T, text string) {
		r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(text))
		r.URL.Path = text
		r.Header = http.Header{"Content-Type": {text}, "Score-For-Uid": {text}, "Connect-Timeout-Ms": {text}}
		r = r.WithContext(context.WithValue(t.Context(), userKey{}, caller{uid: 7}))
		h := newForwarder(newCluster("https://s1"), transport(func(r *http.Request) (*http.Response, error) {
			if said := r.Header.Values(api.ForUID); len(said) != 1 || said[0] != "7" {
				t.Errorf("a server hears of user %q", said)
			}
			return answer(unary, "ok"), nil
		}), zap.NewNop())
		h.ServeHTTP(httptest.NewRecorder(), r)
	})
}
