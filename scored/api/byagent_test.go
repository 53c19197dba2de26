package api

import (
	"fmt"
	"score/scored/api/agentpb/agentpbconnect"
	"score/scored/api/scorev1"
	"strings"
	"testing"

	"connectrpc.com/connect"
)

// usersMethods are those of all services for users.
func usersMethods(t *testing.T) (procedures []string) {
	t.Helper()
	services := scorev1.File_score_v1_user_proto.Services()
	for i := range services.Len() {
		service := services.Get(i)
		for k := range service.Methods().Len() {
			procedures = append(procedures, fmt.Sprintf("/%s/%s", service.FullName(), service.Methods().Get(k).Name()))
		}
	}
	return procedures
}

// TestEveryUsersMethodIsInTheTable: of no method it is left to chance whether agents pass it on,
// and no line is for no method.
func TestEveryUsersMethodIsInTheTable(t *testing.T) {
	all := usersMethods(t)
	for _, procedure := range all {
		if users[procedure] == unknown {
			t.Errorf("%s: the table does not say whether agents pass it on", procedure)
		}
	}
	if len(all) != len(users) {
		t.Errorf("%d methods, and %d lines", len(all), len(users))
	}
}

// TestByAgent: what agents do not pass on is refused with what to do, and what no table has, such
// as a method between daemons, with nothing more.
func TestByAgent(t *testing.T) {
	for procedure, how := range users {
		if err := ByAgent(procedure); (err == nil) != (how == byAgents) ||
			err != nil && !strings.Contains(err.Error(), "on a host where 'scored server' runs") {
			t.Errorf("%s: %v", procedure, err)
		}
	}
	for _, procedure := range []string{
		agentpbconnect.AgentServiceConnectProcedure,
		agentpbconnect.ServerServiceEnrolProcedure,
		agentpbconnect.PeerServiceStdioProcedure,
		"//score.v1.JobService/Submit",
	} {
		if err := ByAgent(procedure); connect.CodeOf(err) != connect.CodePermissionDenied {
			t.Errorf("%s: %v", procedure, err)
		}
	}
}
