package peertransport

import (
	"errors"
	"io"
	"net"
	"score/scored/admission"
	"score/scored/api/identity/pki"
	"score/scored/api/identity/pki/pkitest"
	"testing"
	"time"

	"go.uber.org/zap"
)

// patience is for what must come on a busy machine.
const patience = 20 * time.Second

// newTransport serves until the test's end.
func newTransport(t *testing.T, c *pki.Credentials) *Transport {
	t.Helper()
	raw, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	listener := admission.New(admission.Options{Credentials: c, Logger: zap.NewNop()}).
		Listen(raw, admission.Route{Protocols: []string{Protocol}, Roles: []pki.Role{pki.Server}}).Of(Protocol)
	transport := New(c, raw.Addr())
	served := make(chan error, 1)
	go func() { served <- transport.Serve(listener) }()
	t.Cleanup(func() {
		if err := errors.Join(listener.Close(), transport.Close()); err != nil {
			t.Error(err)
		}
		<-served
	})
	return transport
}

// TestDial: a stream goes to the server that was meant and to no other, and ends with the transport
// of either side.
func TestDial(t *testing.T) {
	cluster := pkitest.New(t, "lab")
	a, b := newTransport(t, cluster.Daemon(t, pki.Server, "a")), newTransport(t, cluster.Daemon(t, pki.Server, "b"))
	conn, err := a.Dial("b", b.Addr().String(), patience)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, "hello"); err != nil {
		t.Fatal(err)
	}
	came, err := b.Accept()
	if err != nil {
		t.Fatal(err)
	}
	heard := make([]byte, 5)
	if _, err := io.ReadFull(came, heard); err != nil || string(heard) != "hello" {
		t.Errorf("heard %q, %v", heard, err)
	}
	if _, err := a.Dial("c", b.Addr().String(), patience); !errors.Is(err, ErrImpostor) {
		t.Errorf("c was meant: %v", err)
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	_ = conn.SetDeadline(time.Now().Add(patience))
	if _, err := conn.Read(heard); !errors.Is(err, io.EOF) {
		t.Errorf("b was closed: %v", err)
	}
	if _, err := b.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("b was closed: %v", err)
	}
}

// TestRoles: an agent is no server, whatever it dials or is dialed as.
func TestRoles(t *testing.T) {
	cluster := pkitest.New(t, "lab")
	server, agent := newTransport(t, cluster.Daemon(t, pki.Server, "a")), newTransport(t, cluster.Daemon(t, pki.Agent, "n1"))
	if _, err := server.Dial("n1", agent.Addr().String(), patience); pki.FaultOf(err) != pki.FaultRole {
		t.Errorf("an agent answers: %v", err)
	}
	conn, err := agent.Dial("a", server.Addr().String(), patience)
	if err == nil { // the server says no once it has seen the certificate
		_ = conn.SetDeadline(time.Now().Add(patience))
		_, err = conn.Read(make([]byte, 1))
	}
	if err == nil || errors.Is(err, io.EOF) {
		t.Errorf("an agent dials: %v", err)
	}
}
