package nodeagent

import (
	"context"
	"crypto/tls"
	"net"
	"score/scored/api/agentpb"
	"score/scored/api/identity/join"
	"score/scored/api/identity/pki"
	"score/scored/api/identity/pki/pkitest"
	"slices"
	"testing"
	"time"
)

// teller answers, over TLS, one who asks whether a certificate was revoked.
type teller struct {
	own    *pki.Credentials
	answer func(net.Conn, *agentpb.JoinRequest)
}

// listen serves until the test ends, and returns the URL.
func (s teller) listen(t *testing.T) string {
	t.Helper()
	config := s.own.NewcomerConfig()
	config.NextProtos = []string{join.Protocol}
	return pkitest.Listen(t, config, func(conn *tls.Conn) {
		request := new(agentpb.JoinRequest)
		if join.Read(conn, request) == nil {
			s.answer(conn, request)
		}
	})
}

// What ends an agent is the yes of a server that shows a certificate of its cluster, and nothing
// else.
func TestRevokedBy(t *testing.T) {
	cluster, foreign := pkitest.New(t, "lab"), pkitest.New(t, "lab")
	own, server := cluster.Daemon(t, pki.Agent, "n1"), cluster.Daemon(t, pki.Server, "s1")
	serial := own.Serial()
	told := func(revoked bool) func(net.Conn, *agentpb.JoinRequest) {
		return func(conn net.Conn, request *agentpb.JoinRequest) {
			if !slices.Equal(request.GetSerial(), serial) || len(request.GetSecret()) > 0 {
				t.Errorf("asked %v", request)
			}
			_ = join.Write(conn, &agentpb.JoinResponse{Revoked: revoked})
		}
	}
	rubbish := func(conn net.Conn, _ *agentpb.JoinRequest) { _, _ = conn.Write([]byte("\xff\xff\xff\xffyes")) }
	refusal := func(conn net.Conn, _ *agentpb.JoinRequest) {
		_ = join.Write(conn, &agentpb.JoinResponse{Refused: "no", Revoked: true})
	}
	tests := []struct {
		name string
		teller
		want bool
	}{
		{"a server says yes", teller{server, told(true)}, true},
		{"a server says no, or has not heard of it yet", teller{server, told(false)}, false},
		{"a server of another authority says yes", teller{foreign.Daemon(t, pki.Server, "s1"), told(true)}, false},
		{"an agent of the cluster says yes", teller{cluster.Daemon(t, pki.Agent, "n2"), told(true)}, false},
		{
			"a server whose certificate has expired says yes",
			teller{cluster.Signed(t, pki.Server, "s2", time.Now().Add(-2*time.Hour), time.Hour), told(true)},
			false,
		},
		{"a server refuses the question", teller{server, refusal}, false},
		{"a server speaks rubbish", teller{server, rubbish}, false},
		{"a server says nothing", teller{server, func(net.Conn, *agentpb.JoinRequest) {}}, false},
	}
	ask := (&Agent{options: Options{Credentials: own}}).revocationCheck()
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := ask(t.Context(), test.listen(t)); got != test.want {
				t.Errorf("revoked is %v", got)
			}
		})
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, url := range []string{"https://127.0.0.1:1", "::rubbish", ""} {
		if ask(ended, url) {
			t.Errorf("%q says yes", url)
		}
	}
	if (&Agent{}).revocationCheck() != nil {
		t.Error("an agent without a certificate asks about it")
	}
}
