package admission

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"score/scored/api/agentpb"
	"score/scored/api/identity/join"
	"score/scored/api/identity/pki"
	"score/scored/api/identity/pki/pkitest"
	"score/scored/state"
	"strings"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"
	"go.uber.org/zap"
)

// patience is for what must come on a busy machine.
const patience = 30 * time.Second

var errNo = errors.New("no")

// memory is a leader with one list of tokens.
type memory struct {
	mu     sync.Mutex
	tokens map[string][]byte // verifiers by id
	given  []*state.Certificate
	// ahead is by how much the cluster's clock is before the host's, expires when the last token
	// does.
	ahead   time.Duration
	expires time.Time
}

func (m *memory) AddToken(_ context.Context, t *pki.Token, _ string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.tokens[t.ID], m.expires = t.Verifier(), t.Expires
	return nil
}

func (m *memory) Admit(_ context.Context, id string, secret []byte, c *state.Certificate) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !pki.CheckSecret(secret, m.tokens[id]) {
		return errNo
	}
	delete(m.tokens, id)
	m.given = append(m.given, c)
	return nil
}

func (m *memory) Renewed(_ context.Context, c *state.Certificate) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.given = append(m.given, c)
	return nil
}

func (m *memory) ClusterTime() time.Time { return time.Now().Add(m.ahead) }

// newRegistrar listens for agents, and answers those that come with a word.
func newRegistrar(t *testing.T) (*Registrar, *memory) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	cluster := pkitest.New(t, "lab")
	m := &memory{tokens: map[string][]byte{}}
	o := New(Options{
		Leader: m, Authority: cluster.Authority, Credentials: cluster.Daemon(t, pki.Server, "s1"), ClusterKey: "the key",
		Addresses: func() []string { return []string{listener.Addr().String()} },
		IsServer:  func(name string) bool { return name == "s1" },
		Logger:    zap.NewNop(),
	})
	l := o.Listen(
		listener,
		Route{Protocols: []string{"test"}, Roles: []pki.Role{pki.Agent}},
		Route{Protocols: []string{"servers"}, Roles: []pki.Role{pki.Server}},
	).Of(
		"test",
	)
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(conn, word)
			conn.Close()
		}
	})
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		serving.Wait()
	})
	return o, m
}

// lab is the registrar's cluster.
func lab(o *Registrar) pkitest.Cluster { return pkitest.Cluster{Authority: o.Authority, Name: "lab"} }

const word = "welcome"

// visit comes with a configuration and gives what was said.
func visit(t *testing.T, o *Registrar, config *tls.Config) (string, error) {
	t.Helper()
	config = config.Clone()
	config.NextProtos = []string{"test"}
	conn, err := tls.Dial("tcp", o.Addresses()[0], config)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(patience))
	said, err := io.ReadAll(conn)
	return string(said), err
}

func newToken(t *testing.T, o *Registrar) *pki.Token {
	t.Helper()
	text, about, err := o.CreateToken(t.Context(), "agent", 0, "root")
	if err != nil || about.GetMadeBy() != "root" {
		t.Fatal(about, err)
	}
	token, err := pki.ParseToken(text)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// TestJoin: a token is good for one daemon, which is let in from then on.
func TestJoin(t *testing.T) {
	o, m := newRegistrar(t)
	token := newToken(t, o)
	member, err := join.Join(t.Context(), token, "n1", time.Now)
	if err != nil {
		t.Fatal(err)
	}
	if member.ClusterKey != "" || member.Address != "127.0.0.1" || member.Server != o.Addresses()[0] || len(m.given) != 1 {
		t.Errorf("%+v, given %v", member, m.given)
	}
	if said, err := visit(t, o, member.Credentials.Client(pki.Server)); said != word || err != nil {
		t.Errorf("a member hears %q, %v", said, err)
	}
	if _, err := join.Join(t.Context(), token, "n2", time.Now); !errors.Is(err, join.ErrRefused) {
		t.Errorf("a used token: %v", err)
	}
	guess := newToken(t, o)
	guess.Secret = bytes.Repeat([]byte{7}, len(guess.Secret))
	if _, err := join.Join(t.Context(), guess, "n2", time.Now); !errors.Is(err, join.ErrRefused) {
		t.Errorf("a guessed secret: %v", err)
	}
	if _, err := join.Join(t.Context(), newToken(t, o), "../n2", time.Now); !errors.Is(err, join.ErrRefused) || !strings.Contains(err.Error(), "letters") {
		t.Errorf("a bad name: %v", err)
	}
	late := newToken(t, o)
	if _, err := join.Join(t.Context(), late, "n2", func() time.Time { return late.Expires.Add(time.Hour) }); !errors.Is(err, pki.ErrToken) {
		t.Errorf("a late token: %v", err)
	}
	if _, _, err := (*Registrar)(nil).CreateToken(t.Context(), "agent", 0, "root"); !errors.Is(err, ErrNoAuthority) {
		t.Errorf("without an authority: %v", err)
	}
}

// TestStrangers: none of them is passed on, and members get in beside them.
func TestStrangers(t *testing.T) {
	o, _ := newRegistrar(t)
	ours := lab(o).Daemon(t, pki.Agent, "n1")
	other := pkitest.New(t, "lab")
	for name, config := range map[string]*tls.Config{
		"no certificate": {InsecureSkipVerify: true},
		"server":         lab(o).Daemon(t, pki.Server, "s2").Client(pki.Server),
		"old TLS":        {InsecureSkipVerify: true, MinVersion: tls.VersionTLS12, MaxVersion: tls.VersionTLS12},
		"foreign":        blind(other.Daemon(t, pki.Agent, "n1")),
	} {
		if said, err := visit(t, o, config); said != "" || err == nil {
			t.Errorf("%s: hears %q, %v", name, said, err)
		}
	}
	raw, err := net.Dial("tcp", o.Addresses()[0])
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	_ = raw.SetDeadline(time.Now().Add(patience))
	if _, err := io.WriteString(raw, "GET / HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if said, _ := io.ReadAll(raw); strings.Contains(string(said), "HTTP") {
		t.Errorf("a request without TLS was answered: %q", said)
	}
	if said, err := visit(t, o, ours.Client(pki.Server)); said != word || err != nil {
		t.Errorf("a member hears %q, %v", said, err)
	}
}

// blind shows its certificate to everybody.
func blind(c *pki.Credentials) *tls.Config {
	config := c.Client(pki.Server)
	config.VerifyConnection = nil
	return config
}

// TestSilence: who connects and says nothing keeps members waiting no longer than their own
// handshake takes.
func TestSilence(t *testing.T) {
	const (
		silent = 600 // more than may wait from one address
		soon   = 3 * time.Second
	)
	o, _ := newRegistrar(t)
	for range silent {
		conn, err := net.Dial("tcp", o.Addresses()[0])
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
	}
	ours := lab(o).Daemon(t, pki.Agent, "n1")
	begin := time.Now()
	if said, err := visit(t, o, ours.Client(pki.Server)); said != word || err != nil {
		t.Errorf("a member hears %q, %v", said, err)
	}
	if took := time.Since(begin); took > soon {
		t.Errorf("a member waited for %v", took)
	}
}

// TestSilentNewcomers: of those who come to join and do not say so the oldest are closed, and
// others join.
func TestSilentNewcomers(t *testing.T) {
	o, _ := newRegistrar(t)
	closed := make(chan struct{}, 2*maxNewcomersPerAddress)
	for range cap(closed) {
		conn, err := tls.Dial("tcp", o.Addresses()[0], &tls.Config{InsecureSkipVerify: true, NextProtos: []string{join.Protocol}})
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		go func() {
			_, _ = conn.Read(make([]byte, 1))
			closed <- struct{}{}
		}()
	}
	for n := range maxNewcomersPerAddress {
		select {
		case <-closed:
		case <-time.After(patience / 2): // less than a conversation may take
			t.Fatalf("%d silent newcomers were turned away, want %d", n, maxNewcomersPerAddress)
		}
	}
	if _, err := join.Join(t.Context(), newToken(t, o), "n1", time.Now); err != nil {
		t.Error(err)
	}
}

// TestRenewOwn: the registrar's own certificate goes the way of all others'.
func TestRenewOwn(t *testing.T) {
	o, m := newRegistrar(t)
	before := o.Credentials.Serial()
	if err := o.Credentials.RenewNow(t.Context(), t.TempDir(), o.renewOwn); err != nil {
		t.Fatal(err)
	}
	if bytes.Equal(before, o.Credentials.Serial()) || len(m.given) != 1 {
		t.Errorf("serial %x, given %v", o.Credentials.Serial(), m.given)
	}
}

// TestServerJoins: who has a server's token gets what a server needs to sign, unless there is a
// server of the name; an agent does not.
func TestServerJoins(t *testing.T) {
	o, _ := newRegistrar(t)
	agent, err := join.Join(t.Context(), newToken(t, o), "x1", time.Now)
	if err != nil || agent.Authority != nil {
		t.Errorf("an agent: %v, %v", agent, err)
	}
	text, _, err := o.CreateToken(t.Context(), "server", 0, "root")
	if err != nil {
		t.Fatal(err)
	}
	token, err := pki.ParseToken(text)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := join.Join(t.Context(), token, "s1", time.Now); !errors.Is(err, join.ErrRefused) || !strings.Contains(err.Error(), "remove it first") {
		t.Errorf("a name that is taken: %v", err)
	}
	server, err := join.Join(t.Context(), token, "s2", time.Now)
	if err != nil || server.Authority == nil || !server.Authority.Certificate().Equal(o.Authority.Certificate()) {
		t.Errorf("a server: %v, %v", server, err)
	}
}

// elsewhere is the registrar of another server.
type elsewhere struct{ asked []string }

func (e *elsewhere) Admit(_ context.Context, r *agentpb.JoinRequest) (*agentpb.JoinResponse, error) {
	e.asked = append(e.asked, r.GetName())
	return nil, connect.NewError(connect.CodePermissionDenied, errNo)
}

func (e *elsewhere) Renew(context.Context, []byte) ([]byte, error) { return nil, errNo }

// TestForwardToLeader: a server that does not lead has newcomers answered by the one that does, in
// its words.
func TestForwardToLeader(t *testing.T) {
	o, m := newRegistrar(t)
	token, other := newToken(t, o), new(elsewhere)
	o.Elsewhere = func() PeerRegistrar { return other }
	if _, err := join.Join(t.Context(), token, "n1", time.Now); !errors.Is(err, join.ErrRefused) || !strings.HasSuffix(err.Error(), ": no") {
		t.Errorf("joined: %v", err)
	}
	if _, err := o.renewOwn(t.Context(), nil); !errors.Is(err, errNo) {
		t.Errorf("renewed: %v", err)
	}
	if len(m.given) != 0 || len(other.asked) != 1 {
		t.Errorf("here %v, there %v", m.given, other.asked)
	}
}

// changing is a leader, and the registrar of another server, that meets changes of the leadership.
type changing struct {
	Leader
	left int // changes that are to come
}

var errChanged = errors.New("another server leads the cluster now")

func (c *changing) Admit(ctx context.Context, id string, secret []byte, record *state.Certificate) error {
	if c.left--; c.left >= 0 {
		return errChanged
	}
	return c.Leader.Admit(ctx, id, secret, record)
}

// changingPeer is the registrar of a server that is not the leader any more.
type changingPeer struct {
	PeerRegistrar
	asked *int
}

func (c changingPeer) Admit(context.Context, *agentpb.JoinRequest) (*agentpb.JoinResponse, error) {
	*c.asked++
	return nil, errChanged
}

// TestJoinWhileTheLeadershipChanges: a newcomer that meets a change is admitted by whoever leads
// then, once.
func TestJoinWhileTheLeadershipChanges(t *testing.T) {
	o, m := newRegistrar(t)
	token, asked := newToken(t, o), 0
	o.Leader = &changing{Leader: m, left: 2}
	o.Unchanged = func(err error) bool { return errors.Is(err, errChanged) }
	o.Elsewhere = func() PeerRegistrar {
		if asked == 1 {
			return nil
		}
		return changingPeer{asked: &asked}
	}
	if _, err := join.Join(t.Context(), token, "n1", time.Now); err != nil {
		t.Error(err)
	}
	if len(m.given) != 1 || asked != 1 {
		t.Errorf("here %v, there %d times", m.given, asked)
	}
	if _, err := join.Join(t.Context(), token, "n1", time.Now); !errors.Is(err, join.ErrRefused) {
		t.Errorf("joined twice: %v", err)
	}
}

// TestClocks: the cluster's clock goes on as it was when the host's is set, by an hour either way.
// What other hosts look at is dated by the host's, what the leader looks at by the cluster's.
func TestClocks(t *testing.T) {
	for _, ahead := range []time.Duration{0, time.Hour, -time.Hour} {
		o, m := newRegistrar(t)
		m.ahead = ahead
		text, _, err := o.CreateToken(t.Context(), "agent", time.Hour, "root")
		if err != nil {
			t.Fatal(err)
		}
		if left := m.expires.Sub(m.ClusterTime()); left < 59*time.Minute || left > time.Hour {
			t.Errorf("%v ahead: the leader takes the token for %v", ahead, left)
		}
		token, err := pki.ParseToken(text)
		if err != nil {
			t.Fatal(err)
		}
		member, err := join.Join(t.Context(), token, "n1", time.Now)
		if err != nil {
			t.Errorf("%v ahead: %v", ahead, err)
			continue
		}
		if err := member.Credentials.Check(); err != nil {
			t.Errorf("%v ahead: the certificate is of no use: %v", ahead, err)
		}
	}
}

// TestRevoked: who is refused in the handshake since its certificate was revoked is told so when it
// asks.
func TestRevoked(t *testing.T) {
	o, _ := newRegistrar(t)
	ours := lab(o).Daemon(t, pki.Server, "s2")
	for _, want := range []bool{false, true} {
		if got, err := join.Revoked(t.Context(), o.Addresses()[0], ours); got != want || err != nil {
			t.Errorf("revoked %v: %v, %v", want, got, err)
		}
		o.Credentials.Revoke([][]byte{{1}, ours.Serial()})
	}
	other := pkitest.New(t, "lab")
	foreign := other.Daemon(t, pki.Server, "s2")
	if got, err := join.Revoked(t.Context(), o.Addresses()[0], foreign); got || pki.FaultOf(err) != pki.FaultForeign {
		t.Errorf("a server of another cluster was believed: %v, %v", got, err)
	}
	if _, err := o.receive(t.Context(), &agentpb.JoinRequest{Serial: make([]byte, maxSerial+1)}); err == nil {
		t.Error("a number of any length is looked for")
	}
}
