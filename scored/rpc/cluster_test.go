package rpc

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"score/scored/api/agentpb"
	"score/scored/api/agentpb/agentpbconnect"
	"score/scored/api/identity/access"
	"score/scored/api/identity/pki"
	"score/scored/api/identity/pki/pkitest"
	"score/scored/api/scorev1"
	"score/scored/api/scorev1/scorev1connect"
	"score/scored/api/transport/h2"
	"score/scored/api/transport/h2/h2test"
	"score/scored/leader"
	"score/scored/metrics"
	"score/scored/replica"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"connectrpc.com/connect"
)

const (
	testKey = "key of the test cluster"
	// patience bounds every wait of a test for something that must happen.
	patience = 60 * time.Second
)

// cluster is a leader that serves real sockets.
type cluster struct {
	t        *testing.T
	leader   *leader.Leader
	socket   string
	agents   string           // where agents are served
	server   *pki.Credentials // the leader's
	jobs     scorev1connect.JobServiceClient
	service  scorev1connect.ClusterServiceClient
	switches *metrics.Switches
	refused  atomic.Int64 // calls that failed
}

func h2c() *http.Protocols {
	p := new(http.Protocols)
	p.SetHTTP1(true)
	p.SetUnencryptedHTTP2(true)
	return p
}

func h2cTransport(dial func(context.Context, string, string) (net.Conn, error)) *http.Transport {
	p := new(http.Protocols)
	p.SetUnencryptedHTTP2(true)
	return &http.Transport{Protocols: p, DialContext: dial, HTTP2: &http.HTTP2Config{MaxReceiveBufferPerStream: 256 << 10}}
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	r, err := replica.Open(replica.Options{})
	if err != nil {
		t.Fatal(err)
	}
	c := &cluster{
		t:        t,
		server:   pkitest.FromKey(t, testKey, "lab", pki.Server, "s1"),
		switches: metrics.NewSwitches(),
		socket:   filepath.Join(t.TempDir(), "user.sock"),
	}
	c.leader = leader.New(leader.Options{Replica: r, Cluster: "lab", Version: "v1"})
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := c.leader.Run(ctx); err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	c.serveUsers()
	c.serveAgents()
	t.Cleanup(func() {
		cancel()
		running.Wait()
		if err := r.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	c.letBeSilent()
	return c
}

func (c *cluster) count(string, string) { c.refused.Add(1) }

func (c *cluster) serveUsers() {
	c.t.Helper()
	transport := h2.NewTransport(c.server, pki.Agent)
	users := NewUsers(UserOptions{
		Leader: c.leader, Switches: c.switches, Agents: &http.Client{Transport: transport}, ExpectAgent: func(string, string) {}, CountError: c.count,
	})
	listener, err := net.Listen("unix", c.socket)
	if err != nil {
		c.t.Fatal(err)
	}
	server := &http.Server{Handler: users, Protocols: h2c(), ConnContext: ConnContext}
	go server.Serve(listener)
	c.t.Cleanup(func() {
		server.Close()
		transport.CloseIdleConnections()
	})
	c.connect()
}

// connect makes clients for the users' socket.
func (c *cluster) connect() {
	client := &http.Client{Transport: h2cTransport(c.dial)}
	c.t.Cleanup(client.CloseIdleConnections)
	c.jobs = scorev1connect.NewJobServiceClient(client, "http://users")
	c.service = scorev1connect.NewClusterServiceClient(client, "http://users")
}

func (c *cluster) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	return new(net.Dialer).DialContext(ctx, "unix", c.socket)
}

func (c *cluster) serveAgents() {
	c.t.Helper()
	handler := WithDaemon(NewAgents(AgentOptions{Leader: c.leader, Switches: c.switches, CountError: c.count}))
	c.agents = serveDaemons(c.t, c.server, handler, pki.Agent)
}

// serveDaemons serves until the test ends, and returns the address.
func serveDaemons(t *testing.T, own *pki.Credentials, handler http.Handler, role pki.Role) (address string) {
	t.Helper()
	server, listener := h2.NewServer(handler), h2test.Listen(t, own, role)
	go server.Serve(listener)
	t.Cleanup(func() { server.Close() })
	return listener.Addr().String()
}

// fakeAgent is a node's agent: a stream to the leader, and a PeerService.
type fakeAgent struct {
	agentpbconnect.UnimplementedPeerServiceHandler
	t       *testing.T
	name    string
	stream  *connect.BidiStreamForClient[agentpb.AgentMessage, agentpb.ServerMessage]
	peer    string                                    // where its PeerService is
	stdio   func(context.Context, *stdioStream) error // how it relays
	dump    func(*dumpStream) error                   // how it dumps
	confirm func() error                              // how it takes confirmations; nil: it knows none
	sending sync.Mutex
	cancel  context.CancelFunc
}

type stdioStream = connect.BidiStream[agentpb.StdioUp, agentpb.StdioDown]

// open opens a stream without sending a message.
func (c *cluster) open(key, name string) (*fakeAgent, context.CancelFunc) {
	c.t.Helper()
	transport := h2.NewTransport(pkitest.FromKey(c.t, key, "lab", pki.Agent, name), pki.Server)
	client := agentpbconnect.NewAgentServiceClient(&http.Client{Transport: transport}, "https://"+c.agents)
	ctx, cancel := context.WithCancel(context.Background())
	stream := client.Connect(ctx)
	c.t.Cleanup(func() {
		cancel()
		transport.CloseIdleConnections()
	})
	return &fakeAgent{t: c.t, stream: stream, cancel: cancel}, cancel
}

// join connects an agent that the leader welcomes.
func (c *cluster) join(name string, stdio func(context.Context, *stdioStream) error) *fakeAgent {
	c.t.Helper()
	a, _ := c.open(testKey, name)
	a.name, a.stdio = name, stdio
	mux := http.NewServeMux()
	mux.Handle(agentpbconnect.NewPeerServiceHandler(a))
	a.peer = serveDaemons(c.t, pkitest.FromKey(c.t, testKey, "lab", pki.Agent, name), access.Guard(mux), pki.Server)
	a.send(&agentpb.AgentMessage{Message: &agentpb.AgentMessage_Hello{Hello: a.hello()}})
	if m := a.receive(); m.GetWelcome() == nil {
		c.t.Fatalf("the leader says %v", m)
	}
	return a
}

// letBeSilent keeps the leader from declaring nodes lost: the fake agents send no heartbeat.
func (c *cluster) letBeSilent() {
	c.t.Helper()
	_, err := c.service.SetSettings(c.t.Context(), connect.NewRequest(&scorev1.SetSettingsRequest{
		Settings: &scorev1.Settings{NodeSilenceNanos: leader.MaxNodeSilence.Nanoseconds()}, Fields: []string{"node_silence_nanos"},
	}))
	if err != nil {
		c.t.Fatal(err)
	}
}

// ConfirmOutput implements PeerServiceHandler.
func (a *fakeAgent) ConfirmOutput(context.Context, *connect.Request[scorev1.OutputMark]) (*connect.Response[scorev1.ConfirmOutputResponse], error) {
	if a.confirm == nil {
		return nil, connect.NewError(connect.CodeUnimplemented, errors.New("not here"))
	}
	return connect.NewResponse(&scorev1.ConfirmOutputResponse{}), a.confirm()
}

// Dump implements PeerServiceHandler.
func (a *fakeAgent) Dump(_ context.Context, _ *connect.Request[scorev1.DumpJobRequest], stream *dumpStream) error {
	return a.dump(stream)
}

// leave ends the stream as a stopping agent does.
func (a *fakeAgent) leave() {
	a.cancel()
	_ = a.stream.CloseRequest()
	_ = a.stream.CloseResponse()
}

func (a *fakeAgent) hello() *agentpb.Hello {
	return &agentpb.Hello{
		Cluster: "lab", Node: a.name, Address: a.peer, Version: "v1",
		Cpus: 2, MemoryBytes: 1 << 30, BootId: "boot",
	}
}

func (a *fakeAgent) send(m *agentpb.AgentMessage) {
	a.t.Helper()
	a.sending.Lock()
	defer a.sending.Unlock()
	if err := a.stream.Send(m); err != nil && !errors.Is(err, io.EOF) {
		a.t.Errorf("%s cannot send: %v", a.name, err)
	}
}

func (a *fakeAgent) receive() *agentpb.ServerMessage {
	a.t.Helper()
	m, err := a.stream.Receive()
	if err != nil {
		a.t.Fatalf("%s receives: %v", a.name, err)
	}
	return m
}

// until receives until pick returns true.
func (a *fakeAgent) until(what string, pick func(*agentpb.ServerMessage) bool) *agentpb.ServerMessage {
	a.t.Helper()
	late := time.AfterFunc(patience, func() {
		a.t.Errorf("%s did not receive: %s", a.name, what)
		a.cancel()
	})
	defer late.Stop()
	for {
		if m := a.receive(); pick(m) {
			return m
		}
	}
}

// launch answers Prepare and the plan.
func (a *fakeAgent) launch() (job uint64) {
	a.t.Helper()
	m := a.until("Prepare", func(m *agentpb.ServerMessage) bool { return m.GetPrepare() != nil })
	job = m.GetPrepare().GetJobId()
	a.send(&agentpb.AgentMessage{Message: &agentpb.AgentMessage_Prepared{Prepared: &agentpb.Prepared{JobId: job}}})
	a.until("Plan", func(m *agentpb.ServerMessage) bool { return len(m.GetPlan().GetRows()) > 0 })
	a.send(&agentpb.AgentMessage{Message: &agentpb.AgentMessage_Launched{Launched: &agentpb.Launched{JobId: job, AtNanos: 1}}})
	return job
}

func (a *fakeAgent) done(job uint64) {
	a.t.Helper()
	a.send(&agentpb.AgentMessage{Message: &agentpb.AgentMessage_NodeDone{NodeDone: &agentpb.NodeDone{JobId: job}}})
}

// Stdio implements PeerServiceHandler.
func (a *fakeAgent) Stdio(ctx context.Context, stream *stdioStream) error {
	return a.stdio(ctx, stream)
}

// Collect implements PeerServiceHandler.
func (a *fakeAgent) Relay(context.Context, *connect.Request[agentpb.RelayRequest]) (*connect.Response[agentpb.RelayResponse], error) {
	return nil, connect.NewError(connect.CodeUnimplemented, errors.New("not here"))
}

func (a *fakeAgent) Collect(context.Context, *connect.Request[agentpb.CollectRequest]) (*connect.Response[agentpb.CollectResponse], error) {
	return connect.NewResponse(&agentpb.CollectResponse{}), nil
}

func (c *cluster) submit(spec *scorev1.JobSpec) uint64 {
	c.t.Helper()
	r, err := c.jobs.Submit(c.t.Context(), connect.NewRequest(&scorev1.SubmitRequest{Spec: spec}))
	if err != nil {
		c.t.Fatal(err)
	}
	return r.Msg.GetJobId()
}

// clusterWithJob returns a cluster in which a detached job was launched on a node that prints
// lines.
func clusterWithJob(t *testing.T, lines ...string) (c *cluster, a *fakeAgent, id uint64) {
	t.Helper()
	c = newCluster(t)
	a = c.join("n1", printing(lines...))
	spec := goodSpec()
	spec.Tasks, spec.Detached = 1, true
	id = c.submit(spec)
	a.launch()
	return c, a, id
}
