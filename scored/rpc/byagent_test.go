package rpc

import (
	"context"
	"encoding/base64"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"score/scored/api"
	"score/scored/api/agentpb/agentpbconnect"
	"score/scored/api/identity/pki"
	"score/scored/api/scorev1"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"
)

// byAgent returns the context of a call that the agent of node n1 forwards.
func byAgent(uid uint32) context.Context {
	who := connIdentity{identity: &scorev1.Identity{Uid: uid, User: "u", Node: "n1"}, agent: "n1"}
	return context.WithValue(context.Background(), identityKey{}, who)
}

// TestTablesAgree: agents forward exactly the calls that a user's role allows.
func TestTablesAgree(t *testing.T) {
	for procedure, rule := range rules {
		if passed := api.ByAgent(procedure) == nil; passed != (minRole[rule] == scorev1.Role_ROLE_USER) {
			t.Errorf("%s takes the role %v; passed on by agents: %v", procedure, minRole[rule], passed)
		}
	}
}

// TestEverybodyIsAUserByAgent: a call by way of an agent has the role of a user, even if it comes
// from root, the server's own user, or an administrator or operator of the cluster.
func TestEverybodyIsAUserByAgent(t *testing.T) {
	for procedure, rule := range rules {
		for _, uid := range []uint32{0, uint32(os.Getuid()), 21, 22, 4711} {
			ctx, err := authorize(byAgent(uid), procedure, roles)
			if allowed := minRole[rule] == scorev1.Role_ROLE_USER; (err == nil) != allowed || !allowed && connect.CodeOf(err) != connect.CodePermissionDenied {
				t.Errorf("%s by %d: %v", procedure, uid, err)
			}
			if caller := callerOf(ctx0(ctx)); err == nil && (caller.Role != scorev1.Role_ROLE_USER || caller.UID != uid) {
				t.Errorf("%s by %d is called by %+v", procedure, uid, caller)
			}
		}
	}
}

// ctx0 returns the context, or an empty one if authorize returned none.
func ctx0(ctx context.Context) context.Context {
	if ctx == nil {
		return context.Background()
	}
	return ctx
}

// TestAgentsMethods: a call from an agent that needs another role, or is one between daemons, is
// refused before its body is read. The error says where such calls may be made.
func TestAgentsMethods(t *testing.T) {
	reached := 0
	h := &byAgents{users: http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached++ })}
	paths := []string{agentpbconnect.AgentServiceConnectProcedure, agentpbconnect.ServerServiceEnrolProcedure, "/", "//score.v1.JobService/Submit"}
	for procedure := range rules {
		paths = append(paths, procedure)
	}
	for _, path := range paths {
		body := strings.NewReader(strings.Repeat("\x00", 1<<10))
		r := httptest.NewRequest(http.MethodPost, path, io.NopCloser(body))
		r.Header.Set("Content-Type", unary)
		r.Header.Set(api.ForUID, "0")
		r = r.WithContext(context.WithValue(r.Context(), daemonKey{}, pki.Name{Cluster: "lab", Role: pki.Agent, Name: "n1"}))
		before, w := reached, httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if want := minRole[rules[path]] == scorev1.Role_ROLE_USER; (reached > before) != want ||
			!want && (w.Code != http.StatusForbidden || body.Len() < 1<<10) {
			t.Errorf("%s: %d %s, %d bytes were read", path, w.Code, w.Body, 1<<10-body.Len())
		}
	}
}

// TestSubmitter: a job belongs to the calling user. An agent may invent calls of root: root's job
// runs only on the agent's node, and a job that asks for more is refused.
func TestSubmitter(t *testing.T) {
	for name, test := range map[string]struct {
		ctx  context.Context
		spec *scorev1.JobSpec
		node string
		bad  bool
	}{
		"root at a server":                {as(0), &scorev1.JobSpec{Nodes: 3}, "", false},
		"a user by an agent":              {byAgent(4711), &scorev1.JobSpec{Nodes: 3, NodeList: []string{"n2"}}, "", false},
		"root by an agent":                {byAgent(0), &scorev1.JobSpec{}, "n1", false},
		"root for the node":               {byAgent(0), &scorev1.JobSpec{Nodes: 1, NodeList: []string{"n1"}}, "n1", false},
		"root for another":                {byAgent(0), &scorev1.JobSpec{NodeList: []string{"n2"}}, "", true},
		"root without the node":           {byAgent(0), &scorev1.JobSpec{ExcludeList: []string{"n2", "n1"}}, "", true},
		"root for two":                    {byAgent(0), &scorev1.JobSpec{Nodes: 2}, "", true},
		"the server's user for two":       {byAgent(uint32(os.Getuid())), &scorev1.JobSpec{Nodes: 2}, "", true},
		"an administrator of the table":   {byAgent(21), &scorev1.JobSpec{Nodes: 2}, "", false},
		"nobody":                          {context.Background(), &scorev1.JobSpec{}, "", true},
		"root for the node, among others": {byAgent(0), &scorev1.JobSpec{NodeList: []string{"n1", "n2"}}, "", true},
	} {
		identity, err := submitter(test.ctx, test.spec)
		if (err != nil) != test.bad || identity.GetNode() != test.node {
			t.Errorf("%s: %v, %v", name, identity, err)
		}
		if test.bad && agentOf(test.ctx) != "" && !strings.Contains(err.Error(), "submit this one on a host where 'scored server' runs") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestAgentsUserIsPassedOn: a call of an agent's user reaches the leader as such, by way of the
// server that the agent asked.
func TestAgentsUserIsPassedOn(t *testing.T) {
	e := newElsewhere("s2", func(r *http.Request) (*http.Response, error) {
		who, err := agentsUserFrom(r.Header.Get(forAgentsUser))
		if err != nil || who.agent != "n1" || who.identity.GetUser() != "nobody" || r.Header.Get(forUser) != "" || r.Header.Get(api.ForUID) != "" {
			t.Errorf("passed on for %v, %v", who, err)
		}
		return answer(http.StatusOK, unary, "there"), nil
	})
	h := newByAgents(local, e.routing())
	r := httptest.NewRequest(http.MethodPost, api.KeyedSubmit, strings.NewReader("hello"))
	r.Header.Set("Content-Type", unary)
	r.Header.Set(api.ForUID, "65534")
	r = r.WithContext(context.WithValue(r.Context(), daemonKey{}, pki.Name{Cluster: "lab", Role: pki.Agent, Name: "n1"}))
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if w.Code != http.StatusOK || w.Body.String() != "there" {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

func FuzzAgentsUser(f *testing.F) {
	data, err := proto.Marshal(&scorev1.Identity{Uid: 7, Node: "n1"})
	if err != nil {
		f.Fatal(err)
	}
	f.Add("7", base64.StdEncoding.EncodeToString(data))
	f.Fuzz(func(t *testing.T, uid, passed string) {
		r := &http.Request{Header: http.Header{api.ForUID: {uid}}}
		if who, err := agentsUser(r, pki.Name{Role: pki.Agent, Name: "n1"}); err == nil && (who.agent != "n1" || who.identity.GetNode() != "n1") {
			t.Errorf("%+v", who)
		}
		if who, err := agentsUserFrom(passed); err == nil && !api.ValidName(who.agent) {
			t.Errorf("%+v", who)
		}
	})
}
