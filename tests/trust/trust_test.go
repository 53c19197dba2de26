// Package trust shows the real daemons certificates and tokens that they must not take: of nobody,
// of another cluster, made by oneself, too old, too young, of the wrong role, used and forged.
package trust

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"score/cmd/scored/config"
	"score/scored/api/identity/join"
	"score/scored/api/identity/pki"
	"score/scored/api/identity/pki/pkitest"
	"score/tests/daemons"
	"score/tests/daemons/daemonstest"
	"score/tests/journal"
	"score/tests/ports"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// binaries is the directory of the programs, built from this tree.
var binaries string

func TestMain(m *testing.M) { os.Exit(daemonstest.Run(m, &binaries)) }

// site is a cluster of a server and an agent; the test has its authority.
type site struct {
	pkitest.Cluster
	config config.Config
	log    *journal.Journal // of the server
	agent  *journal.Journal
}

func (s *site) scored(t *testing.T, arguments ...string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), filepath.Join(binaries, "scored"), arguments...)
	command.Env = append(os.Environ(), "SCORE_SOCKET="+s.config.Server.Socket)
	out, err := command.Output()
	if err != nil {
		t.Fatalf("scored %s: %v\n%s", strings.Join(arguments, " "), err, s.log)
	}
	return string(out)
}

func start(t *testing.T, log *journal.Journal, arguments ...string) {
	t.Helper()
	command := exec.Command(filepath.Join(binaries, "scored"), arguments...)
	command.Stderr = log
	command.WaitDelay = daemons.Patience
	command.SysProcAttr = &unix.SysProcAttr{Pdeathsig: unix.SIGINT}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Signal(unix.SIGINT)
		_ = command.Wait()
	})
}

// newSite makes the cluster as an administrator does.
func newSite(t *testing.T) *site {
	t.Helper()
	dir := t.TempDir()
	s := &site{log: new(journal.Journal), agent: new(journal.Journal)}
	path, certificates := filepath.Join(dir, "score.toml"), filepath.Join(dir, "certificates")
	s.scored(t, "init", "--config", path, "--name", "trust", "--server", "s1", "--address", ports.Address(t),
		"--certificates", certificates, "--key-file", filepath.Join(dir, "key"))
	c, err := config.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	c.Server.DataDir, c.Server.Socket = filepath.Join(dir, "data"), filepath.Join(dir, "s")
	c.Agent.Name, c.Agent.Listen, c.Agent.RunDir = "n1", ports.Address(t), filepath.Join(dir, "run")
	if err := config.Write(path, c); err != nil {
		t.Fatal(err)
	}
	s.config = c
	authority, err := pki.LoadAuthority(filepath.Join(certificates, "server-s1"))
	if err != nil {
		t.Fatal(err)
	}
	s.Cluster = pkitest.Cluster{Authority: authority, Name: "trust"}
	start(t, s.log, "server", "--config", path)
	s.await(t, "the server answers", "node", "list")
	// The agent's host is another one: it has no key, and is given none.
	c.Cluster.KeyFile = filepath.Join(dir, "none")
	ofAgent := filepath.Join(dir, "agent.toml")
	if err := config.Write(ofAgent, c); err != nil {
		t.Fatal(err)
	}
	start(t, s.agent, "agent", "--config", ofAgent, "--join", strings.TrimSpace(s.scored(t, "token", "create")))
	if err := daemons.Await(t.Context(), "the agent runs", func() bool { return s.agent.Has("connected to the leader") }); err != nil {
		t.Fatalf("%v\n%s", err, s.agent)
	}
	if _, err := os.Lstat(c.Cluster.KeyFile); err == nil {
		t.Error("the agent was given the cluster's key")
	}
	return s
}

func (s *site) await(t *testing.T, what string, arguments ...string) {
	t.Helper()
	if err := daemons.Await(t.Context(), what, func() bool {
		command := exec.Command(filepath.Join(binaries, "scored"), arguments...)
		command.Env = append(os.Environ(), "SCORE_SOCKET="+s.config.Server.Socket)
		return command.Run() == nil
	}); err != nil {
		t.Fatalf("%v\n%s", err, s.log)
	}
}

// shows is what a caller shows, whoever answers.
func shows(c *pki.Credentials) *tls.Config {
	return &tls.Config{InsecureSkipVerify: true, GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		held := c.Client()
		held.VerifyConnection = nil
		return held.GetClientCertificate(new(tls.CertificateRequestInfo))
	}}
}

// selfMade is a certificate that a stranger has signed with its own key, and that says of itself
// what a good one would.
func selfMade(t *testing.T, like *pki.Credentials) *tls.Config {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	good, err := shows(like).GetClientCertificate(nil)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(good.Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	says := &x509.Certificate{
		SerialNumber: leaf.SerialNumber, Subject: leaf.Subject, URIs: leaf.URIs, NotBefore: leaf.NotBefore,
		NotAfter: leaf.NotAfter, KeyUsage: leaf.KeyUsage, ExtKeyUsage: leaf.ExtKeyUsage,
	}
	made, err := x509.CreateCertificate(rand.Reader, says, says, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return raw(made, key)
}

func raw(certificate []byte, key any) *tls.Config {
	return &tls.Config{InsecureSkipVerify: true, Certificates: []tls.Certificate{{Certificate: [][]byte{certificate}, PrivateKey: key}}}
}

// signed is a certificate of the site's authority for another time, which a good daemon would not
// show.
func (s *site) signed(t *testing.T, role pki.Role, name string, at time.Time, life time.Duration) *tls.Config {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	request, err := x509.CreateCertificateRequest(rand.Reader, new(x509.CertificateRequest), key)
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := s.Sign(request, pki.Name{Cluster: s.Name, Role: role, Name: name}, at, life)
	if err != nil {
		t.Fatal(err)
	}
	return raw(certificate.Raw, key)
}

// call asks for a method, and returns the HTTP status, or the error of the connection.
func call(t *testing.T, config *tls.Config, address, procedure string) (int, error) {
	t.Helper()
	config = config.Clone()
	config.NextProtos = []string{"h2"}
	transport := &http.Transport{TLSClientConfig: config, Protocols: new(http.Protocols)}
	transport.Protocols.SetHTTP2(true)
	defer transport.CloseIdleConnections()
	client := http.Client{Transport: transport, Timeout: daemons.Patience}
	response, err := client.Post("https://"+address+procedure, "application/proto", strings.NewReader(""))
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	_, _ = io.Copy(io.Discard, response.Body)
	return response.StatusCode, nil
}

const (
	ofServers = "/score.v1.AgentService/RenewCertificate"
	ofAgents  = "/score.v1.PeerService/ConfirmOutput"
	toAgents  = "/score.v1.PeerService/Relay"
)

func TestCertificates(t *testing.T) {
	s := newSite(t)
	foreign := pkitest.New(t, s.Name)
	now := time.Now()
	strangers := []struct {
		name   string
		shown  *tls.Config
		reason string // in the daemon's log
	}{
		{"nothing", &tls.Config{InsecureSkipVerify: true}, "showed no certificate"},
		{"another cluster's", shows(foreign.Daemon(t, pki.Agent, "n1")), "was not signed by this cluster's authority"},
		{"self-made", selfMade(t, s.Daemon(t, pki.Server, "s7")), "the certificate of server s7 of cluster trust was not signed by this cluster's authority"},
		{
			"another name of the cluster",
			shows(pkitest.Cluster{Authority: s.Authority, Name: "other"}.Daemon(t, pki.Agent, "n1")),
			"is not one of a daemon of cluster trust",
		},
		{"expired", s.signed(t, pki.Agent, "n5", now.Add(-3*time.Hour), time.Hour), "the certificate of agent n5 of cluster trust expired 2 hours ago"},
		{"of tomorrow", s.signed(t, pki.Agent, "n6", now.Add(25*time.Hour), time.Hour), "the certificate of agent n6 of cluster trust is valid only in"},
	}
	for _, target := range []struct {
		address, procedure string
		log                *journal.Journal
	}{{s.config.Server.AgentsListen, ofServers, s.log}, {s.config.Agent.Listen, ofAgents, s.agent}} {
		for _, stranger := range strangers {
			// Of many that come within a second the log tells some only.
			if err := daemons.Await(t.Context(), "the log says: "+stranger.reason, func() bool {
				if status, err := call(t, stranger.shown, target.address, target.procedure); err == nil {
					t.Errorf("%s, who shows %s, is answered %d", target.procedure, stranger.name, status)
				}
				return target.log.Has(stranger.reason)
			}); err != nil {
				t.Errorf("%s, who shows %s: %v\n%s", target.procedure, stranger.name, err, target.log)
			}
		}
	}
	// A member that may not call this is refused; one that may is let in, and its request is read.
	agent, server := shows(s.Daemon(t, pki.Agent, "n9")), shows(s.Daemon(t, pki.Server, "s9"))
	for _, member := range []struct {
		name, address, procedure string
		shown                    *tls.Config
		want                     int
	}{
		{"an agent", s.config.Agent.Listen, ofAgents, agent, http.StatusForbidden},
		{"a server", s.config.Agent.Listen, toAgents, server, http.StatusForbidden},
		{"a server", s.config.Server.AgentsListen, "/score.v1.AgentService/Connect", server, http.StatusForbidden},
		{"an agent", s.config.Server.AgentsListen, "/score.v1.JobService/Submit", agent, http.StatusForbidden},
		{"a server", s.config.Agent.Listen, ofAgents, server, http.StatusOK},
		{"an agent", s.config.Agent.Listen, toAgents, agent, http.StatusBadRequest},
	} {
		if status, err := call(t, member.shown, member.address, member.procedure); err != nil || status != member.want {
			t.Errorf("%s calls %s: status %d, %v; want %d", member.name, member.procedure, status, err, member.want)
		}
	}
}

// TestTokens: a token is good once, whole, for its time, and with the server that made it.
func TestTokens(t *testing.T) {
	s := newSite(t)
	fresh := func() *pki.Token {
		token, err := pki.ParseToken(strings.TrimSpace(s.scored(t, "token", "create")))
		if err != nil {
			t.Fatal(err)
		}
		return token
	}
	used := fresh()
	if _, err := join.Join(t.Context(), used, "n2", time.Now); err != nil {
		t.Fatalf("a good token: %v\n%s", err, s.log)
	}
	guessed, other, elsewhere, old := fresh(), fresh(), fresh(), fresh()
	guessed.Secret = slices.Clone(guessed.Secret)
	guessed.Secret[0] ^= 1
	other.ID += "x"
	elsewhere.Authority[0] ^= 1
	late := func() time.Time { return old.Expires.Add(time.Minute) }
	for name, test := range map[string]struct {
		token *pki.Token
		now   func() time.Time
		want  string
	}{
		"used":                 {used, time.Now, "the token is not known: it was used, has expired or was removed"},
		"a guessed secret":     {guessed, time.Now, "the token is not known: it was used, has expired or was removed"},
		"another number":       {other, time.Now, "the token is not known: it was used, has expired or was removed"},
		"another authority":    {elsewhere, time.Now, "the server is not of the cluster that made the token"},
		"a clock that is late": {old, late, "expired"},
	} {
		_, err := join.Join(t.Context(), test.token, "n3", test.now)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
	if s.log.Has(fmt.Sprintf("%x", used.Secret)) || s.log.Has(string(used.Secret)) {
		t.Error("a token's secret is in the log")
	}
}
