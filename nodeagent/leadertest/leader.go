// Package leadertest has a leader for tests of agents: it speaks AgentService
// over HTTP/2 on loopback as a server does, and decides nothing by itself.
//
//	leader := leadertest.Start(t, leadertest.Options{})
//	... an agent connects to leader.URL() ...
//	session := leader.Next(t)       // its stream, welcomed
//	session.Send(&agentpb.ServerMessage{...})
//	message := session.Receive(t)   // all but pings, which are answered
//
// It is no model of the real leader's decisions; see scored/leader for those.
package leadertest

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"score/scored/api/agentpb"
	"score/scored/api/agentpb/agentpbconnect"
	"score/scored/api/identity/pki"
	"score/scored/api/identity/pki/pkitest"
	"score/scored/api/transport/h2"
	"score/scored/api/transport/h2/h2test"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"connectrpc.com/connect"
)

// Timeout bounds every wait of a test for something that must happen.
const Timeout = 60 * time.Second

// Options say how the leader greets.
type Options struct {
	// Refuse, if not nil, gives the sentence by which a node is refused, or "".
	Refuse func(*agentpb.Hello) string
	// Redirect, if not nil, gives the address of the server that leads instead of this one, or "".
	Redirect func() string
	// Servers are the addresses in the Welcome.
	Servers []string
	// Keep, if not nil, lists the jobs in the Welcome.
	Keep func(*agentpb.Hello) []uint64
	// Now is the cluster's clock; default: Unix nanoseconds.
	Now func() int64
	// Mute leaves pings unanswered while it is true.
	Mute *atomic.Bool
	// Key is the cluster's, by which agents know the leader. Default: nothing is encrypted.
	Key string
	// HandlerOptions configure what stands before the service, such as the
	// check of credentials.
	HandlerOptions []connect.HandlerOption
}

// Leader serves until the test ends.
type Leader struct {
	agentpbconnect.UnimplementedAgentServiceHandler // but for Connect
	options                                         Options
	term                                            atomic.Uint64
	cluster                                         string
	listener                                        net.Listener
	server                                          *http.Server
	sessions                                        chan *Session
	done                                            chan struct{}
	stop                                            sync.Once
}

// Start begins to serve, in term 1.
func Start(t testing.TB, options Options) *Leader {
	t.Helper()
	if options.Now == nil {
		options.Now = func() int64 { return time.Now().UnixNano() }
	}
	leader := &Leader{
		options:  options,
		cluster:  fmt.Sprintf("agenttest-%d-%d", os.Getpid(), clusters.Add(1)),
		sessions: make(chan *Session, 64),
		done:     make(chan struct{}),
	}
	leader.term.Store(1)
	leader.serve(t)
	t.Cleanup(leader.Stop)
	return leader
}

// clusters counts leaders, so that each has a cluster of its own.
var clusters atomic.Int64

func (l *Leader) listen(t testing.TB) {
	t.Helper()
	if l.options.Key != "" {
		own := pkitest.FromKey(t, l.options.Key, l.cluster, pki.Server, "leader")
		l.listener = h2test.Listen(t, own, pki.Agent)
		return
	}
	var err error
	if l.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
}

func (l *Leader) serve(t testing.TB) {
	l.listen(t)
	mux := http.NewServeMux()
	mux.Handle(agentpbconnect.NewAgentServiceHandler(l, l.options.HandlerOptions...))
	l.server = h2.NewServer(mux)
	go func() { _ = l.server.Serve(l.listener) }() // until Stop
}

// URL returns the base URL for agents.
func (l *Leader) URL() string {
	if l.options.Key != "" {
		return "https://" + l.Address()
	}
	return "http://" + l.Address()
}

// Cluster returns the name of the leader's cluster, which differs for each leader.
func (l *Leader) Cluster() string { return l.cluster }

// Calls returns the client with which the leader calls an agent, authenticated by a key.
func (l *Leader) Calls(t testing.TB, key, address string) agentpbconnect.PeerServiceClient {
	t.Helper()
	client := h2.NewClient(pkitest.FromKey(t, key, l.cluster, pki.Server, "leader"), pki.Agent)
	t.Cleanup(client.CloseIdleConnections)
	return agentpbconnect.NewPeerServiceClient(client, "https://"+address)
}

// Address returns the address of URL, host:port.
func (l *Leader) Address() string { return l.listener.Addr().String() }

// SetTerm changes the term of later Welcomes and Pongs.
func (l *Leader) SetTerm(term uint64) { l.term.Store(term) }

// Stop ends all streams and the service.
func (l *Leader) Stop() {
	l.stop.Do(func() {
		close(l.done)
		_ = l.server.Close()
	})
}

// Next waits for the next stream.
func (l *Leader) Next(t testing.TB) *Session {
	t.Helper()
	select {
	case session := <-l.sessions:
		return session
	case <-time.After(Timeout):
		t.Fatal("no agent connected")
		return nil
	}
}

// Connect implements agentpbconnect.AgentServiceHandler.
func (l *Leader) Connect(ctx context.Context, stream *connect.BidiStream[agentpb.AgentMessage, agentpb.ServerMessage]) error {
	first, err := stream.Receive()
	if err != nil {
		return err
	}
	hello := first.GetHello()
	if l.options.Refuse != nil {
		if sentence := l.options.Refuse(hello); sentence != "" {
			return stream.Send(&agentpb.ServerMessage{Message: &agentpb.ServerMessage_Refused{Refused: sentence}})
		}
	}
	if l.options.Redirect != nil {
		if to := l.options.Redirect(); to != "" {
			return stream.Send(&agentpb.ServerMessage{Message: &agentpb.ServerMessage_Redirect{Redirect: &agentpb.Redirect{Address: to}}})
		}
	}
	session := newSession(hello, stream)
	defer session.end()
	welcome := &agentpb.Welcome{
		Term:    l.term.Load(),
		Cluster: hello.GetCluster(),
		Version: hello.GetVersion(),
		Servers: &agentpb.Servers{Addresses: l.options.Servers},
	}
	if l.options.Keep != nil {
		welcome.KeepJobs = l.options.Keep(hello)
	}
	session.Send(&agentpb.ServerMessage{Message: &agentpb.ServerMessage_Welcome{Welcome: welcome}})
	l.sessions <- session
	go session.receive(l)
	select {
	case <-l.done:
	case <-session.drop:
	case <-session.gone:
	case <-ctx.Done():
	}
	return nil
}

func (l *Leader) pong(ping *agentpb.Ping) *agentpb.ServerMessage {
	now := l.options.Now()
	return &agentpb.ServerMessage{Message: &agentpb.ServerMessage_Pong{Pong: &agentpb.Pong{
		Sequence:     ping.GetSequence(),
		AgentNanos:   ping.GetAgentNanos(),
		ArrivedNanos: now,
		ClusterNanos: now,
		Term:         l.term.Load(),
	}}}
}
