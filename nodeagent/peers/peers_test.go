package peers

import (
	"context"
	"errors"
	"net"
	"net/http"
	"score/scored/api/agentpb"
	"score/scored/api/agentpb/agentpbconnect"
	"score/scored/api/identity/pki"
	"score/scored/api/identity/pki/pkitest"
	"score/scored/api/transport/h2"
	"score/scored/api/transport/handshake"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"connectrpc.com/connect"
	"go.uber.org/zap"
)

// taker is a peer that takes what is sent to it, and refuses exchange 13.
type taker struct {
	agentpbconnect.UnimplementedPeerServiceHandler
	taken atomic.Int32
}

func (l *taker) Collect(_ context.Context, r *connect.Request[agentpb.CollectRequest]) (*connect.Response[agentpb.CollectResponse], error) {
	l.taken.Add(1)
	if r.Msg.GetSequence() == 13 {
		return nil, connect.NewError(connect.CodeFailedPrecondition, context.Canceled)
	}
	return connect.NewResponse(&agentpb.CollectResponse{}), nil
}

// dying hands over connections on which an agent dies: while it has read nothing, some, or is about
// to answer.
type dying struct {
	net.Listener
	deaths atomic.Int32
}

func (d *dying) Accept() (net.Conn, error) {
	for {
		c, err := d.Listener.Accept()
		if err != nil || d.deaths.Load() == 0 {
			return c, err
		}
		n := d.deaths.Add(-1)
		if n%2 == 1 {
			_, _ = c.Read(make([]byte, 1<<12))
		}
		_ = c.(*net.TCPConn).SetLinger(int(n % 3)) // 0: with a reset
		_ = c.Close()
	}
}

// A step is sent again until a peer has answered, in whatever way the one before died over it; an
// answer is final.
func TestCollectIsSentUntilItIsAnswered(t *testing.T) {
	own := pkitest.FromKey(t, "key", "lab", pki.Agent, "n1")
	plain, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	peer, dies := &taker{}, &dying{Listener: plain}
	listener := handshake.Listen(dies, own.ServerSide(h2.Protocol, pki.Agent), zap.NewNop())
	dies.deaths.Store(6)
	mux := http.NewServeMux()
	mux.Handle(agentpbconnect.NewPeerServiceHandler(peer))
	server := h2.NewServer(mux)
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(listener) })
	defer serving.Wait()
	defer server.Close()
	p := New(own, true)
	defer p.Close()
	request := &agentpb.CollectRequest{JobId: 1, Sequence: 1, Data: [][]byte{make([]byte, 1<<20)}}
	if err := p.Collect(t.Context(), plain.Addr().String(), request); err != nil {
		t.Errorf("after 6 deaths: %v", err)
	}
	if left := dies.deaths.Load(); left != 0 || peer.taken.Load() != 1 {
		t.Errorf("%d deaths are left, it was taken %d times", left, peer.taken.Load())
	}
	request.Sequence = 13
	if err := p.Collect(
		t.Context(),
		plain.Addr().String(),
		request,
	); err == nil || !strings.Contains(err.Error(), "context canceled") ||
		peer.taken.Load() != 2 {
		t.Errorf("a refusal: %v, taken %d times", err, peer.taken.Load())
	}
}

// In a cluster of one host all goes to loopback, whoever asks for it.
func TestNothingGoesToOtherHostsWithoutCertificates(t *testing.T) {
	p := New(pkitest.FromKey(t, "key", "lab", pki.Agent, "n1"), true)
	defer p.Close()
	calls := map[string]func(address string) error{
		"collect": func(address string) error { return p.Collect(t.Context(), address, &agentpb.CollectRequest{}) },
		"relay":   func(address string) error { return p.Relay(t.Context(), address, &agentpb.RelayRequest{}) },
		"gossip":  func(address string) error { return p.Gossip(t.Context(), address, &agentpb.GossipRequest{}) },
	}
	for name, call := range calls {
		for _, address := range []string{"192.0.2.1:7", "[2001:db8::1]:7", "node2:7", "0.0.0.0:7", "127.0.0.1.example.org:7", "", "7"} {
			if err := call(address); !errors.Is(err, ErrForeign) {
				t.Errorf("%s to %q: %v", name, address, err)
			}
		}
	}
	for _, address := range []string{"127.0.0.1:7", "[::1]:7"} {
		if err := p.mayCall(address); err != nil {
			t.Errorf("%q: %v", address, err)
		}
	}
	p.local = false
	if err := p.mayCall("192.0.2.1:7"); err != nil {
		t.Errorf("with certificates: %v", err)
	}
}
