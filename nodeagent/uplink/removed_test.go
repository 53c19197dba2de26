package uplink_test

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"score/nodeagent/leadertest"
	"score/nodeagent/uplink"
	"score/scored/api/agentpb"
	"score/scored/api/identity/pki"
	"score/scored/api/identity/pki/pkitest"
	"score/scored/api/transport/h2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// runLink runs a link to servers until the test ends, that asks revoked.
func runLink(t *testing.T, own *pki.Credentials, revoked func(context.Context, string) bool, servers ...string) <-chan error {
	t.Helper()
	n := newNode()
	client := h2.NewClient(own, pki.Server)
	link := uplink.New(uplink.Options{
		Servers: servers, Client: client, Revoked: revoked, Handler: n, Clock: n,
		Hello: func() *agentpb.Hello { return &agentpb.Hello{Node: "n1", Cluster: "lab"} },
		Now:   func() int64 { return time.Since(began).Nanoseconds() },
	})
	ctx, cancel := context.WithCancel(context.Background())
	result := make(chan error, 1)
	var ended sync.WaitGroup
	ended.Go(func() { result <- link.Run(ctx) })
	t.Cleanup(func() { cancel(); ended.Wait(); client.CloseIdleConnections() })
	return result
}

// rejectingServer starts a server that rejects every agent's certificate, and returns its URL.
func rejectingServer(t *testing.T, server *pki.Credentials) string {
	t.Helper()
	config := server.Server(pki.Server)
	config.NextProtos = []string{"h2"}
	return pkitest.Listen(t, config, func(conn *tls.Conn) { _ = conn.HandshakeContext(t.Context()) })
}

// A node that is turned away asks who did it why, each time: it goes on while the answer is no, and
// ends when it is yes.
func TestRemoved(t *testing.T) {
	cluster := pkitest.New(t, "lab")
	url := rejectingServer(t, cluster.Daemon(t, pki.Server, "s1"))
	var asked atomic.Int32
	result := runLink(t, cluster.Daemon(t, pki.Agent, "n1"), func(_ context.Context, server string) bool {
		if server != url {
			t.Errorf("%s was asked, and %s has turned it away", server, url)
		}
		return asked.Add(1) == 4
	}, url)
	if err := await(t, "end of Run", result); !errors.Is(err, uplink.ErrRemoved) || errors.Is(err, uplink.ErrRefused) {
		t.Errorf("Run = %v", err)
	}
	if asked.Load() != 4 {
		t.Errorf("asked %d times", asked.Load())
	}
}

// Who is not there, shows another cluster's certificate, or sends on, is not asked.
func TestRemovedIsNotAsked(t *testing.T) {
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	gone.Close()
	cluster := pkitest.New(t, "lab")
	foreign := rejectingServer(t, pkitest.New(t, "lab").Daemon(t, pki.Server, "s1"))
	own := rejectingServer(t, cluster.Daemon(t, pki.Server, "s1"))
	turns := make(chan struct{}, 1024)
	runLink(t, cluster.Daemon(t, pki.Agent, "n1"), func(_ context.Context, server string) bool {
		if server != own {
			t.Errorf("%s was asked", server)
		}
		turns <- struct{}{}
		return false
	}, "https://"+gone.Addr().String(), foreign, own)
	await(t, "question", turns) // of the last; the others were tried before
}

// A leader that refuses the node is asked whether it was removed, before the refusal counts.
func TestRemovedWhileConnected(t *testing.T) {
	for _, revoked := range []bool{true, false} {
		leader := leadertest.Start(t, leadertest.Options{Refuse: func(*agentpb.Hello) string { return "go away" }})
		result := runLink(t, nil, func(context.Context, string) bool { return revoked }, leader.URL())
		err := await(t, "end of Run", result)
		if errors.Is(err, uplink.ErrRemoved) != revoked || !revoked && !strings.Contains(err.Error(), "go away") {
			t.Errorf("removed is %v: Run = %v", revoked, err)
		}
	}
}
