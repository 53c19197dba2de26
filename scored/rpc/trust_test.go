package rpc

import (
	"context"
	"encoding/base64"
	"io"
	"net/http"
	"net/http/httptest"
	"score/scored/api"
	"score/scored/api/identity/pki"
	"score/scored/api/scorev1"
	"testing"

	"google.golang.org/protobuf/proto"
)

// TestTrust: only servers may forward calls, and malformed headers are refused.
func TestTrust(t *testing.T) {
	identity, err := proto.Marshal(&scorev1.Identity{Uid: 0, User: "root"})
	if err != nil {
		t.Fatal(err)
	}
	root := base64.StdEncoding.EncodeToString(identity)
	guest, err := proto.Marshal(&scorev1.Identity{Uid: 7, User: "ada", Node: "n1"})
	if err != nil {
		t.Fatal(err)
	}
	atN1 := base64.StdEncoding.EncodeToString(guest)
	agent := pki.Name{Cluster: "lab", Role: pki.Agent, Name: "n1"}
	said := func(what string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if user, err := identityOf(r.Context()); err == nil {
				what += " for " + user.GetUser()
				if at := agentOf(r.Context()); at != "" {
					what += " at " + at
				}
			} else if daemon, err := daemonOf(r.Context()); err == nil {
				what += " for " + daemon.Name
			}
			_, _ = io.WriteString(w, what)
		})
	}
	for _, test := range []struct {
		name         string
		role         pki.Role
		user, daemon []string
		guest, uid   []string
		elsewhere    bool
		code         int
		want         string
	}{
		{name: "an agent calls", role: pki.Agent, code: 200, want: "daemons for x"},
		{name: "a server calls", role: pki.Server, code: 200, want: "daemons for x"},
		{name: "a server for a user", role: pki.Server, user: []string{root}, code: 200, want: "users for root"},
		{name: "a server for an agent", role: pki.Server, daemon: []string{agent.URI()}, code: 200, want: "passed for n1"},
		{name: "it does not lead", role: pki.Server, user: []string{root}, elsewhere: true, code: http.StatusMisdirectedRequest},
		{name: "an agent for a user", role: pki.Agent, user: []string{root}, code: 403},
		{name: "an agent for another", role: pki.Agent, daemon: []string{agent.URI()}, code: 403},
		{name: "no certificate, for a user", user: []string{root}, code: 403},
		{name: "two users", role: pki.Server, user: []string{root, root}, code: 403},
		{name: "a user and a daemon", role: pki.Server, user: []string{root}, daemon: []string{agent.URI()}, code: 403},
		{name: "rubbish", role: pki.Server, user: []string{"\xff"}, code: 403},
		{name: "an agent for a user of its host", role: pki.Agent, uid: []string{"65534"}, code: 200, want: "users for nobody at x"},
		{name: "an agent where another server leads", role: pki.Agent, uid: []string{"65534"}, elsewhere: true, code: 200, want: "users for nobody at x"},
		{name: "an agent for root", role: pki.Agent, uid: []string{"0"}, code: 200, want: "users for root at x"},
		{name: "an agent for an unknown user", role: pki.Agent, uid: []string{"4242424"}, code: 403},
		{name: "a server for a user of its host", role: pki.Server, uid: []string{"65534"}, code: 403},
		{name: "no certificate, for a user of a host", uid: []string{"65534"}, code: 403},
		{name: "an agent for two", role: pki.Agent, uid: []string{"65534", "0"}, code: 403},
		{name: "an agent for rubbish", role: pki.Agent, uid: []string{"-1"}, code: 403},
		{name: "an agent for more than there are", role: pki.Agent, uid: []string{"4294967296"}, code: 403},
		{name: "an agent for a user, and as a server", role: pki.Agent, uid: []string{"65534"}, user: []string{root}, code: 403},
		{name: "an agent as a server for an agent's user", role: pki.Agent, guest: []string{atN1}, code: 403},
		{name: "a server for an agent's user", role: pki.Server, guest: []string{atN1}, code: 200, want: "users for ada at n1"},
		{name: "a server for an agent's user of no node", role: pki.Server, guest: []string{root}, code: 403},
		{name: "a server for an agent's user and its own", role: pki.Server, guest: []string{atN1}, user: []string{root}, code: 403},
		{name: "another cluster's", role: pki.Server, daemon: []string{"score://other/agent/n1"}, code: 403},
	} {
		h := &daemonHandler{
			daemons: said("daemons"), passed: said("passed"), users: said("users"),
			here: func() bool { return !test.elsewhere }, byAgent: &byAgents{users: said("users")},
		}
		r := httptest.NewRequest(http.MethodPost, api.KeyedSubmit, nil)
		r.Header[forUser], r.Header[forDaemon], r.Header[forAgentsUser], r.Header[api.ForUID] = test.user, test.daemon, test.guest, test.uid
		if test.role != "" {
			r = r.WithContext(context.WithValue(r.Context(), daemonKey{}, pki.Name{Cluster: "lab", Role: test.role, Name: "x"}))
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != test.code || test.want != "" && w.Body.String() != test.want {
			t.Errorf("%s: %d, %q", test.name, w.Code, w.Body)
		}
	}
}

func FuzzUserFrom(f *testing.F) {
	f.Add("CAcSA2FkYQ==")
	f.Fuzz(func(t *testing.T, text string) {
		if identity, err := userFrom(text); (identity == nil) != (err != nil) {
			t.Errorf("%v, %v", identity, err)
		}
	})
}
