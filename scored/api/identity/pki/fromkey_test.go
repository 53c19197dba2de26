package pki

import (
	"context"
	"crypto/tls"
	"net"
	"testing"
	"time"
)

// connected are the ends of a TCP connection. Its buffers take an alert that the other side does
// not read; over net.Pipe two sides that refuse each other at once would wait for each other.
func connected(t *testing.T) (dialled, accepted net.Conn) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	dialled, err = net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if accepted, err = listener.Accept(); err != nil {
		dialled.Close()
		t.Fatal(err)
	}
	return dialled, accepted
}

// handshakeOf connects two daemons, the second of which is dialled as a server; a blind client
// takes any.
func handshakeOf(t *testing.T, client, server *Credentials, blind bool) (clientErr, serverErr error) {
	t.Helper()
	config := client.Client(Server)
	config.NextProtos = []string{"test"}
	if blind {
		config.VerifyConnection = nil
	}
	a, b := connected(t)
	defer a.Close()
	defer b.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	over := make(chan error, 1)
	go func() {
		err := server.ServerSide("test", Agent)(b).HandshakeContext(ctx)
		b.Close() // a client that waits hears of it
		over <- err
	}()
	clientErr = tls.Client(a, config).HandshakeContext(ctx)
	a.Close()
	return clientErr, <-over
}

func fromKey(t *testing.T, key, cluster string, role Role) *Credentials {
	t.Helper()
	c, err := FromKey(key, Name{Cluster: cluster, Role: role, Name: "d1"})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Daemons that derive their credentials from one key know each other, and nobody else, in their
// roles.
func TestFromKey(t *testing.T) {
	agent := fromKey(t, "the key", "c1", Agent)
	if clientErr, serverErr := handshakeOf(t, agent, fromKey(t, "the key", "c1", Server), false); clientErr != nil || serverErr != nil {
		t.Errorf("two of one key: %v, %v", clientErr, serverErr)
	}
	for name, test := range map[string]struct {
		server *Credentials
		fault  Fault
	}{
		"another key":     {fromKey(t, "the key ", "c1", Server), FaultForeign},
		"another cluster": {fromKey(t, "the key", "c2", Server), FaultForeign},
		"another role":    {fromKey(t, "the key", "c1", Agent), FaultRole},
	} {
		if err, _ := handshakeOf(t, agent, test.server, false); FaultOf(err) != test.fault {
			t.Errorf("%s: the agent's end says %v", name, err)
		}
	}
	for name, test := range map[string]struct {
		client *Credentials
		fault  Fault
	}{
		"another key":  {fromKey(t, "guess", "c1", Agent), FaultForeign},
		"another role": {fromKey(t, "the key", "c1", Server), FaultRole},
	} {
		if _, err := handshakeOf(t, test.client, fromKey(t, "the key", "c1", Server), true); FaultOf(err) != test.fault {
			t.Errorf("%s: the server's end says %v", name, err)
		}
	}
}

// Clocks do not matter where certificates follow from the key.
func TestFromKeyAtAnyTime(t *testing.T) {
	for _, at := range []time.Time{time.Unix(1, 0), time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)} {
		c := fromKey(t, "the key", "c1", Agent)
		c.now = func() time.Time { return at }
		if err := c.Check(); err != nil {
			t.Errorf("at %v: %v", at, err)
		}
	}
}

func BenchmarkFromKey(b *testing.B) {
	for b.Loop() {
		if _, err := FromKey("the key", Name{Cluster: "c1", Role: Agent, Name: "d1"}); err != nil {
			b.Fatal(err)
		}
	}
}
