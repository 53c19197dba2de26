package rpc

import (
	"errors"
	"fmt"
	"score/scored/api/scorev1"
	"score/scored/leader"
	"score/scored/replica"
	"strings"
	"testing"

	"connectrpc.com/connect"
)

// three returns the servers of a cluster.
type three struct{ unasked }

func (three) Servers() ([]replica.Server, error) {
	return []replica.Server{{Name: "s1", Leader: true}, {Name: "s2"}, {Name: "s3"}}, nil
}

// TestMayRevoke: the certificate of a server that counts for the majority cannot be revoked, only
// the server removed.
func TestMayRevoke(t *testing.T) {
	u := users{UserOptions: UserOptions{Servers: three{}}}
	for name, test := range map[string]struct {
		role, name string
		want       error
		says       string
	}{
		"leader":   {"server", "s1", leader.ErrState, "'scored server remove s1'"},
		"follower": {"server", "s2", leader.ErrState, "'scored server remove s2'"},
		"removed":  {"server", "s4", nil, ""},
		"agent":    {"agent", "s1", nil, ""},
		"no role":  {"foo", "s1", leader.ErrInvalid, `"foo" is not a role; use server or agent`},
	} {
		err := u.mayRevoke(test.role, test.name)
		if !errors.Is(err, test.want) || err != nil && !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := (users{}).mayRevoke("server", "s1"); err != nil {
		t.Errorf("a server that is alone: %v", err)
	}
}

// returning has a server that enrols again while it is being removed, until its certificate is
// revoked.
type returning struct {
	unasked
	member bool
	enrols int
}

func (*returning) Name() string { return "s1" }

func (r *returning) Remove(name string) error {
	if !r.member {
		return fmt.Errorf("%w: %s", replica.ErrUnknownServer, name)
	}
	r.member = r.enrols > 0
	r.enrols--
	return nil
}

// TestRemovedServerEnrols: a server that enrols between its removal and the end of its certificate
// is no member after the removal.
func TestRemovedServerEnrols(t *testing.T) {
	c := newCluster(t)
	servers := &returning{member: true, enrols: 1}
	u := users{UserOptions: UserOptions{Leader: c.leader, Servers: servers}}
	if _, err := u.RemoveServer(t.Context(), connect.NewRequest(&scorev1.RemoveServerRequest{Name: "s2"})); err != nil {
		t.Error(err)
	}
	if servers.member {
		t.Error("the server is a member")
	}
	if _, err := u.RemoveServer(t.Context(), connect.NewRequest(&scorev1.RemoveServerRequest{Name: "s2"})); !errors.Is(err, replica.ErrUnknownServer) {
		t.Errorf("removing it again: %v", err)
	}
}

// TestReasons: text that is shown to all users must not garble a terminal.
func TestReasons(t *testing.T) {
	c := newCluster(t)
	for reason, says := range map[string]string{
		"a\x1b[31m": "control characters", "two\nlines": "control characters", strings.Repeat("x", maxReason+1): "longer than 200 bytes",
	} {
		_, drain := c.service.DrainNode(t.Context(), connect.NewRequest(&scorev1.DrainNodeRequest{Node: "n1", Reason: reason}))
		_, requeue := c.jobs.RequeueJob(t.Context(), connect.NewRequest(&scorev1.RequeueJobRequest{JobId: 1, Reason: reason}))
		for what, err := range map[string]error{"drain": drain, "requeue": requeue} {
			if connect.CodeOf(err) != connect.CodeInvalidArgument || !strings.Contains(err.Error(), says) {
				t.Errorf("%s with %.10q: %v", what, reason, err)
			}
		}
	}
}
