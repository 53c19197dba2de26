package rpc

import (
	"context"
	"score/scored/api/agentpb"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"connectrpc.com/connect"
)

// unasked implements what the test's server does not need.
type unasked Servers

// electionServers are servers with elections.
type electionServers struct {
	unasked
	mu      sync.Mutex
	term    uint64
	address string
	changed chan struct{}
}

func (h *electionServers) LeaderOf() (uint64, string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.term, h.address
}

func (h *electionServers) LeaderChanged() <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.changed
}

func (h *electionServers) set(term uint64, address string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.term, h.address = term, address
	close(h.changed)
	h.changed = make(chan struct{})
}

// A node that asks for a later leader gets an answer when there is one.
func TestFindLeader(t *testing.T) {
	const election = 700 * time.Millisecond
	tests := []struct {
		name    string
		after   uint64
		elected bool
		term    uint64
		took    time.Duration
	}{
		{"known", 4, false, 5, 0},
		{"elected meanwhile", 5, true, 6, election},
		{"none", 5, false, 0, electionPatience},
		{"not even then", 6, true, 0, electionPatience},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := &electionServers{term: 5, address: "a:1", changed: make(chan struct{})}
				began := time.Now()
				if test.elected {
					time.AfterFunc(election/2, func() { h.set(6, "") })
					time.AfterFunc(election, func() { h.set(6, "b:1") })
				}
				r := connect.NewRequest(&agentpb.FindLeaderRequest{AfterTerm: test.after})
				reply, err := agents{AgentOptions{Servers: h}}.FindLeader(t.Context(), r)
				if err != nil || reply.Msg.GetTerm() != test.term || (reply.Msg.GetAddress() == "") != (test.term == 0) {
					t.Errorf("%v, %v", reply, err)
				}
				if took := time.Since(began); took != test.took {
					t.Errorf("after %v, want %v", took, test.took)
				}
			})
		})
	}
}

// FindLeader does not outlast its caller.
func TestFindLeaderForNobody(t *testing.T) {
	h := &electionServers{term: 5, address: "a:1", changed: make(chan struct{})}
	a := agents{AgentOptions{Servers: h}}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r := connect.NewRequest(&agentpb.FindLeaderRequest{AfterTerm: 5})
	if _, err := a.FindLeader(ctx, r); err == nil {
		t.Error("who has gone got an answer")
	}
}
