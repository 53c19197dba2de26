package rpc

import (
	"context"
	"errors"
	"fmt"
	"os"
	"score/scored/api/scorev1"
	"score/scored/api/transport/socket"
	"score/scored/leader"
	"strings"
	"testing"

	"connectrpc.com/connect"
)

// Every method of the users' services has a rule, and every rule a method.
func TestEveryMethodHasARule(t *testing.T) {
	for procedure, rule := range rules {
		if minRole[rule] == scorev1.Role_ROLE_UNSPECIFIED {
			t.Errorf("%s has no rule", procedure)
		}
	}
	methods := 0
	services := scorev1.File_score_v1_user_proto.Services()
	for i := range services.Len() {
		service := services.Get(i)
		for k := range service.Methods().Len() {
			procedure := fmt.Sprintf("/%s/%s", service.FullName(), service.Methods().Get(k).Name())
			methods++
			if rules[procedure] == forbidden {
				t.Errorf("%s has no rule", procedure)
			}
		}
	}
	if methods != len(rules) {
		t.Errorf("%d methods, %d rules", methods, len(rules))
	}
}

func as(uid uint32) context.Context {
	return context.WithValue(context.Background(), identityKey{}, connIdentity{identity: &scorev1.Identity{Uid: uid, User: "u"}})
}

// roles makes user 21 an administrator and 22 an operator.
func roles(uid uint32, admin bool) leader.Caller {
	switch {
	case admin || uid == 21:
		return leader.Caller{UID: uid, Role: scorev1.Role_ROLE_ADMIN}
	case uid == 22:
		return leader.Caller{UID: uid, Role: scorev1.Role_ROLE_OPERATOR}
	}
	return leader.Caller{UID: uid, Role: scorev1.Role_ROLE_USER}
}

func TestAuthorize(t *testing.T) {
	const (
		set  = "/score.v1.ClusterService/SetSettings"
		list = "/score.v1.JobService/ListJobs"
	)
	tests := []struct {
		name      string
		ctx       context.Context
		procedure string
		want      connect.Code // 0: allowed
	}{
		{"anybody lists", as(4711), list, 0},
		{"root sets", as(0), set, 0},
		{"the server's user sets", as(uint32(os.Getuid())), set, 0},
		{"an administrator by the table sets", as(21), set, 0},
		{"an operator does not set", as(22), set, connect.CodePermissionDenied},
		{"others do not set", as(4711), set, connect.CodePermissionDenied},
		{"a method that is not in the table", as(0), "/score.v1.JobService/Delete", connect.CodePermissionDenied},
		{"a call without identity", context.Background(), list, connect.CodeUnauthenticated},
		{
			"a caller whom the kernel did not identify",
			context.WithValue(context.Background(), identityKey{}, connIdentity{err: socket.ErrNoIdentity}),
			list,
			connect.CodeUnauthenticated,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			ctx, err := authorize(test.ctx, test.procedure, roles)
			if test.want != 0 {
				if connect.CodeOf(err) != test.want {
					t.Fatalf("error %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			identity, _ := identityOf(test.ctx)
			if caller := callerOf(ctx); caller != roles(identity.GetUid(), isAdmin(identity.GetUid())) {
				t.Errorf("caller %+v", caller)
			}
		})
	}
}

// TestDenied: who is refused learns who may, and how one gets the role.
func TestDenied(t *testing.T) {
	for role, want := range map[scorev1.Role]string{
		scorev1.Role_ROLE_OPERATOR: "only operators and administrators may do that: root",
		scorev1.Role_ROLE_ADMIN:    "only administrators may do that: root",
	} {
		got := denied(role).Error()
		if !strings.HasPrefix(got, want) || !strings.HasSuffix(got, " and users with such a role ('scored user set')") {
			t.Errorf("%v: %s", role, got)
		}
	}
}

// TestEveryMethodAsEveryRole: callers below the role in the table are refused, the others are not.
func TestEveryMethodAsEveryRole(t *testing.T) {
	callers := map[uint32]scorev1.Role{4711: scorev1.Role_ROLE_USER, 22: scorev1.Role_ROLE_OPERATOR, 21: scorev1.Role_ROLE_ADMIN}
	for procedure, rule := range rules {
		if _, err := authorize(context.Background(), procedure, roles); connect.CodeOf(err) != connect.CodeUnauthenticated {
			t.Errorf("%s without identity: %v", procedure, err)
		}
		for uid, role := range callers {
			_, err := authorize(as(uid), procedure, roles)
			if enough := role >= minRole[rule]; enough != (err == nil) || !enough && connect.CodeOf(err) != connect.CodePermissionDenied {
				t.Errorf("%s as %v: %v", procedure, role, err)
			}
		}
	}
}

func TestErrorsHaveCodes(t *testing.T) {
	for _, c := range codes {
		err := withCode(fmt.Errorf("%w: a sentence", c.err))
		if connect.CodeOf(err) != c.code {
			t.Errorf("%v has code %v, want %v", c.err, connect.CodeOf(err), c.code)
		}
		if failure, ok := errors.AsType[*connect.Error](err); !ok || failure.Message() != "a sentence" {
			t.Errorf("%v becomes %v", c.err, err)
		}
		if again := withCode(err); !errors.Is(again, err) {
			t.Errorf("coded twice: %v", again)
		}
	}
	if err := withCode(leader.ErrStopped); connect.CodeOf(err) != connect.CodeUnavailable {
		t.Errorf("bare sentinel: %v", err)
	}
	if err := withCode(errors.New("odd")); connect.CodeOf(err) != connect.CodeInternal {
		t.Errorf("unknown error: %v", err)
	}
}
