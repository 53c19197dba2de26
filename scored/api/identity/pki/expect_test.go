package pki_test

import (
	"context"
	"net"
	"score/scored/api/identity/pki"
	"score/scored/api/identity/pki/pkitest"
	"testing"
)

// An agent that answers at another node's address is not spoken to, though its certificate is good.
func TestExpectAgent(t *testing.T) {
	cluster := pkitest.New(t, "c1")
	server, thief := cluster.Daemon(t, pki.Server, "s1"), cluster.Daemon(t, pki.Agent, "n2")
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	start := thief.ServerSide("p", pki.Server)
	go func() {
		for {
			raw, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				conn := start(raw)
				_ = conn.Handshake() // who dials finds out
				_, _ = conn.Read(make([]byte, 1))
				conn.Close()
			}()
		}
	}()
	address := listener.Addr().String()
	for _, c := range []struct {
		expected string
		refused  bool
	}{{"", false}, {"n1", true}, {"n2", false}, {"n1", true}} {
		server.ExpectAgent(address, c.expected)
		conn, err := server.Dial(context.Background(), address, "p", pki.Agent)
		if err == nil {
			conn.Close()
		}
		if (pki.FaultOf(err) == pki.FaultName) != c.refused || !c.refused && err != nil {
			t.Errorf("expecting %q: %v", c.expected, err)
		}
	}
}
