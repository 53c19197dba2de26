package pki

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"strings"
	"testing"
	"time"
)

var epoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// clock is what a host takes for the time.
type clock struct{ at time.Time }

func (c *clock) now() time.Time { return c.at }

func newAuthority(t testing.TB) *Authority {
	t.Helper()
	a, err := NewAuthority("c1", epoch)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// daemon has the authority sign credentials at the epoch.
func daemon(t testing.TB, a *Authority, name Name, now func() time.Time) *Credentials {
	t.Helper()
	request, err := NewRequest()
	if err != nil {
		t.Fatal(err)
	}
	cert, err := a.Sign(request.Bytes(), name, epoch, DefaultLife)
	if err != nil {
		t.Fatal(err)
	}
	c, err := NewCredentials(a.Certificate(), cert.Raw, request, now)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// shake lets a client and a server meet. With TLS 1.3 a client learns by reading that it was
// refused.
func shake(t testing.TB, server, client *tls.Config) (who *tls.ConnectionState, serverErr, clientErr error) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	done := make(chan error, 1)
	go func() {
		raw, err := net.Dial("tcp", listener.Addr().String())
		if err != nil {
			done <- err
			return
		}
		conn := tls.Client(raw, client)
		defer conn.Close()
		if err = conn.Handshake(); err == nil {
			_, err = conn.Read(make([]byte, 1))
		}
		done <- err
	}()
	raw, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	conn := tls.Server(raw, server)
	defer conn.Close()
	if serverErr = conn.Handshake(); serverErr == nil {
		_, serverErr = conn.Write([]byte{1})
		state := conn.ConnectionState()
		who = &state
	} else {
		raw.Close()
	}
	return who, serverErr, <-done
}

// TestHandshake: who is let in, and what the others are told.
func TestHandshake(t *testing.T) {
	ours, theirs := newAuthority(t), newAuthority(t)
	at := &clock{epoch}
	server := daemon(t, ours, Name{"c1", Server, "s1"}, at.now)
	agent := Name{"c1", Agent, "n1"}
	for _, c := range []struct {
		name    string
		client  func() *tls.Config
		roles   []Role
		at      time.Time
		fault   Fault
		mention string
	}{
		{"agent", func() *tls.Config { return daemon(t, ours, agent, at.now).Client(Server) }, []Role{Agent}, epoch, FaultNone, ""},
		{"either role", func() *tls.Config { return daemon(t, ours, agent, at.now).Client(Server) }, []Role{Server, Agent}, epoch, FaultNone, ""},
		{"wrong role", func() *tls.Config { return daemon(t, ours, agent, at.now).Client(Server) }, []Role{Server}, epoch, FaultRole, "agent n1 of cluster c1 may not do this: it is for servers"},
		{"no certificate", func() *tls.Config { return &tls.Config{InsecureSkipVerify: true} }, []Role{Agent}, epoch, FaultMissing, "showed no certificate"},
		{"foreign authority", func() *tls.Config { return blind(daemon(t, theirs, agent, at.now)) }, []Role{Agent}, epoch, FaultForeign, "not signed by this cluster's authority"},
		{"other cluster", func() *tls.Config { return blind(daemon(t, ours, Name{"c2", Agent, "n1"}, at.now)) }, []Role{Agent}, epoch, FaultName, "not one of a daemon of cluster c1"},
		{"expired", func() *tls.Config { return blind(daemon(t, ours, agent, at.now)) }, []Role{Agent}, epoch.Add(DefaultLife + 3*time.Hour), FaultExpired, "expired 3 hours ago"},
		{"clock behind", func() *tls.Config { return blind(daemon(t, ours, agent, at.now)) }, []Role{Agent}, epoch.Add(-skew - 90*time.Second), FaultEarly, "only in 90 seconds"},
		{"within the skew", func() *tls.Config { return daemon(t, ours, agent, at.now).Client(Server) }, []Role{Agent}, epoch.Add(-skew + time.Second), FaultNone, ""},
		{"self-signed", func() *tls.Config { return blind(selfSigned(t, at)) }, []Role{Agent}, epoch, FaultForeign, "not signed by this cluster's authority"},
	} {
		t.Run(c.name, func(t *testing.T) {
			at.at = c.at
			state, serverErr, clientErr := shake(t, server.Server(c.roles...), c.client())
			if got := FaultOf(serverErr); got != c.fault || c.fault != FaultNone && !strings.Contains(serverErr.Error(), c.mention) {
				t.Fatalf("the server says %v (fault %d), the client %v", serverErr, got, clientErr)
			}
			if c.fault != FaultNone {
				if clientErr == nil {
					t.Error("the client was let in")
				}
				return
			}
			if who, err := PeerOf(state); err != nil || who != agent {
				t.Errorf("it is %v, %v", who, err)
			}
		})
	}
}

// blind shows a certificate whatever is wrong with it, and accepts any.
func blind(c *Credentials) *tls.Config {
	return &tls.Config{InsecureSkipVerify: true, Certificates: []tls.Certificate{*c.current.Load()}}
}

// selfSigned is an agent that is its own authority, by the name of ours.
func selfSigned(t *testing.T, at *clock) *Credentials {
	t.Helper()
	return daemon(t, newAuthority(t), Name{"c1", Agent, "n1"}, at.now)
}

// TestClientLooks: a client does not talk to who is no server of its cluster.
func TestClientLooks(t *testing.T) {
	ours, at := newAuthority(t), &clock{epoch}
	client := daemon(t, ours, Name{"c1", Agent, "n1"}, at.now)
	for name, c := range map[string]struct {
		server *Credentials
		fault  Fault
	}{
		"server":  {daemon(t, ours, Name{"c1", Server, "s1"}, at.now), FaultNone},
		"agent":   {daemon(t, ours, Name{"c1", Agent, "n2"}, at.now), FaultRole},
		"foreign": {daemon(t, newAuthority(t), Name{"c1", Server, "s1"}, at.now), FaultForeign},
	} {
		_, _, err := shake(t, &tls.Config{Certificates: []tls.Certificate{*c.server.current.Load()}}, client.Client(Server))
		if FaultOf(err) != c.fault || (err == nil) != (c.fault == FaultNone) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestOwnExpired: a daemon whose own certificate ended says so itself.
func TestOwnExpired(t *testing.T) {
	ours, at := newAuthority(t), &clock{epoch}
	server := daemon(t, ours, Name{"c1", Server, "s1"}, (&clock{epoch}).now)
	client := daemon(t, ours, Name{"c1", Agent, "n1"}, at.now)
	at.at = client.Expires().Add(25 * 24 * time.Hour)
	if err := client.Check(); !errors.Is(err, ErrOwn) || FaultOf(err) != FaultExpired || !strings.Contains(err.Error(), "25 days ago") {
		t.Error(err)
	}
	_, _, err := shake(t, server.Server(Agent), client.Client(Server))
	if FaultOf(err) != FaultExpired {
		t.Error(err)
	}
}

// TestRevoked: what is taken back is not accepted from then on.
func TestRevoked(t *testing.T) {
	ours, at := newAuthority(t), &clock{epoch}
	server := daemon(t, ours, Name{"c1", Server, "s1"}, at.now)
	client := daemon(t, ours, Name{"c1", Agent, "n1"}, at.now)
	server.Revoke([][]byte{{1, 2, 3}, client.Serial()})
	if !server.IsRevoked([]byte{1, 2, 3}) || !server.IsRevoked(client.Serial()) || server.IsRevoked(server.Serial()) {
		t.Error("others are revoked")
	}
	if _, err, _ := shake(t, server.Server(Agent), client.Client(Server)); FaultOf(err) != FaultRevoked {
		t.Error(err)
	}
	server.Revoke(nil)
	if _, err, _ := shake(t, server.Server(Agent), client.Client(Server)); err != nil {
		t.Error(err)
	}
}

// TestRenew: the next certificate is in use at once; another's is not taken.
func TestRenew(t *testing.T) {
	ours, at := newAuthority(t), &clock{epoch}
	name := Name{"c1", Agent, "n1"}
	client := daemon(t, ours, name, at.now)
	if until := client.Expires().Sub(client.renewAt()); until < 29*24*time.Hour || until > 31*24*time.Hour {
		t.Errorf("renewed %v before the end", until)
	}
	at.at = client.renewAt()
	before := client.Serial()
	for _, c := range []struct {
		name Name
		ok   bool
	}{{Name{"c1", Agent, "n2"}, false}, {Name{"c1", Server, "n1"}, false}, {name, true}} {
		request, err := NewRequest()
		if err != nil {
			t.Fatal(err)
		}
		signed, err := ours.Sign(request.Bytes(), c.name, at.at, DefaultLife)
		if err != nil {
			t.Fatal(err)
		}
		if err := client.Renew(signed.Raw, request); (err == nil) != c.ok {
			t.Errorf("%v: %v", c.name, err)
		}
	}
	if string(before) == string(client.Serial()) {
		t.Error("the old one is still in use")
	}
	at.at = epoch.Add(DefaultLife + time.Hour)
	server := daemonAt(t, ours, Name{"c1", Server, "s1"}, at)
	if _, err, _ := shake(t, server.Server(Agent), client.Client(Server)); err != nil {
		t.Error(err)
	}
}

func daemonAt(t *testing.T, a *Authority, name Name, at *clock) *Credentials {
	t.Helper()
	request, err := NewRequest()
	if err != nil {
		t.Fatal(err)
	}
	signed, err := a.Sign(request.Bytes(), name, at.at, DefaultLife)
	if err != nil {
		t.Fatal(err)
	}
	c, err := NewCredentials(a.Certificate(), signed.Raw, request, at.now)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestSign: what the authority does not sign.
func TestSign(t *testing.T) {
	a := newAuthority(t)
	good, err := NewRequest()
	if err != nil {
		t.Fatal(err)
	}
	name := Name{"c1", Agent, "n1"}
	forged := append([]byte(nil), good.Bytes()...)
	forged[len(forged)-1] ^= 1
	for _, c := range []struct {
		what    string
		request []byte
		name    Name
		life    time.Duration
	}{
		{"path as name", good.Bytes(), Name{"c1", Agent, "../../s1"}, DefaultLife},
		{"slash in the name", good.Bytes(), Name{"c1", Agent, "server/s1"}, DefaultLife},
		{"no name", good.Bytes(), Name{"c1", Agent, ""}, DefaultLife},
		{"no role", good.Bytes(), Name{"c1", "admin", "n1"}, DefaultLife},
		{"control character", good.Bytes(), Name{"c1", Agent, "n1\n"}, DefaultLife},
		{"no life", good.Bytes(), name, 0},
		{"too long a life", good.Bytes(), name, MaxLife + 1},
		{"rubbish", []byte("rubbish"), name, DefaultLife},
		{"nothing", nil, name, DefaultLife},
		{"too long", make([]byte, MaxRequest+1), name, DefaultLife},
		{"foreign key", forged, name, DefaultLife},
		{"weak key", rsaRequest(t), name, DefaultLife},
		{"other curve", curveRequest(t), name, DefaultLife},
	} {
		if _, err := a.Sign(c.request, c.name, epoch, c.life); !errors.Is(err, ErrRequest) {
			t.Errorf("%s: %v", c.what, err)
		}
	}
}

func rsaRequest(t *testing.T) []byte {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	return requestWith(t, key)
}

func curveRequest(t *testing.T) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return requestWith(t, key)
}

func requestWith(t *testing.T, key any) []byte {
	t.Helper()
	der, err := x509.CreateCertificateRequest(rand.Reader, new(x509.CertificateRequest), key)
	if err != nil {
		t.Fatal(err)
	}
	return der
}
