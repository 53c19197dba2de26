package pki

import (
	"errors"
	"net"
	"os"
	"testing"
	"time"
)

// patience bounds every wait of a test for something that must happen.
const patience = 60 * time.Second

// meet connects two daemons; each has heard from the other.
func meet(t *testing.T, server, client *Credentials) (accepted, dialed net.Conn) {
	t.Helper()
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer inner.Close()
	done := make(chan error, 1)
	go func() {
		raw, err := inner.Accept()
		if err == nil {
			conn := server.ServerSide("word", client.Name().Role)(raw)
			accepted = conn
			t.Cleanup(func() { conn.Close() })
			err = conn.HandshakeContext(t.Context())
		}
		done <- err
	}()
	conn, err := client.Dial(t.Context(), inner.Addr().String(), "word", server.Name().Role)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	expectMessage(t, accepted, conn)
	expectMessage(t, conn, accepted)
	return accepted, conn
}

func expectMessage(t *testing.T, to, from net.Conn) {
	t.Helper()
	if _, err := from.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	if _, err := to.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
}

// Whoever was let in is cut off when the certificate that he showed is revoked, at whichever end
// that is heard; others are not.
func TestRevokedWhileOpen(t *testing.T) {
	ours, at := newAuthority(t), &clock{epoch}
	server := daemon(t, ours, Name{"c1", Server, "s1"}, at.now)
	agent := daemon(t, ours, Name{"c1", Agent, "n1"}, at.now)
	other := daemon(t, ours, Name{"c1", Agent, "n2"}, at.now)
	for name, hears := range map[string]struct{ who, revoked *Credentials }{
		"who accepted": {server, agent},
		"who dialed":   {agent, server},
	} {
		t.Run(name, func(t *testing.T) {
			accepted, dialed := meet(t, server, agent)
			t.Cleanup(func() { hears.who.Revoke(nil) })
			hears.who.Revoke([][]byte{{1}, hears.revoked.Serial()})
			for _, conn := range []net.Conn{accepted, dialed} {
				_ = conn.SetReadDeadline(time.Now().Add(patience))
				if n, err := conn.Read(make([]byte, 1)); n > 0 || err == nil || isTimeout(err) {
					t.Errorf("%v goes on: %v", conn.RemoteAddr(), err)
				}
			}
		})
	}
	accepted, dialed := meet(t, server, other)
	server.Revoke([][]byte{agent.Serial()})
	expectMessage(t, accepted, dialed)
	accepted.Close()
	dialed.Close()
	for _, c := range []*Credentials{server, agent, other} {
		if len(c.conns.open) > 0 {
			t.Errorf("%s remembers %d connections that are closed", c.Name(), len(c.conns.open))
		}
	}
}

func isTimeout(err error) bool { return errors.Is(err, os.ErrDeadlineExceeded) }

// A connection whose certificate is refused is not remembered.
func TestRefusedIsForgotten(t *testing.T) {
	ours, at := newAuthority(t), &clock{epoch}
	server := daemon(t, ours, Name{"c1", Server, "s1"}, at.now)
	agent := daemon(t, ours, Name{"c1", Agent, "n1"}, at.now)
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer inner.Close()
	go func() {
		raw, err := inner.Accept()
		if err == nil {
			conn := server.ServerSide("word", Agent)(raw)
			_ = conn.HandshakeContext(t.Context())
			conn.Close()
		}
	}()
	if conn, err := agent.Dial(t.Context(), inner.Addr().String(), "word", Agent); FaultOf(err) != FaultRole {
		t.Errorf("a server passed for an agent: %v, %v", conn, err)
	}
	if len(agent.conns.open) > 0 {
		t.Errorf("%d connections are remembered", len(agent.conns.open))
	}
}
