package rpc

import (
	"context"
	"fmt"
	"os"
	"score/scored/api/scorev1"
	"score/scored/api/scorev1/scorev1connect"
	"score/scored/leader"

	"connectrpc.com/connect"
)

// rule determines who may call a method, and for whose jobs.
type rule uint8

const (
	forbidden rule = iota // methods without a rule are forbidden
	anybody               // every user of the host; nothing in the answer belongs to one user
	public                // every user; of others' jobs only what all may see
	own                   // every user, for their own jobs; operators for all jobs
	owner                 // the owner of the job in the request, and operators
	operator              // operators and administrators
	admin                 // administrators: root, the user as whom the server runs, and users with that role
)

// minRole is the role that a caller needs to call a method of a rule at all. What public, own and
// owner restrict further depends on the job: package leader checks that with leader.Caller.
var minRole = map[rule]scorev1.Role{
	anybody: scorev1.Role_ROLE_USER, public: scorev1.Role_ROLE_USER, own: scorev1.Role_ROLE_USER, owner: scorev1.Role_ROLE_USER,
	operator: scorev1.Role_ROLE_OPERATOR, admin: scorev1.Role_ROLE_ADMIN,
}

// rules holds the rule of every method.
var rules = map[string]rule{
	scorev1connect.JobServiceSubmitProcedure:                 anybody,
	scorev1connect.JobServiceAttachProcedure:                 owner,
	scorev1connect.JobServiceConfirmOutputProcedure:          owner, // who attached is compared
	scorev1connect.JobServiceDumpJobProcedure:                owner,
	scorev1connect.JobServiceListJobsProcedure:               public,
	scorev1connect.JobServiceGetJobProcedure:                 public,
	scorev1connect.JobServiceExplainJobProcedure:             public,
	scorev1connect.JobServiceCancelJobProcedure:              owner,
	scorev1connect.JobServiceSignalJobProcedure:              owner,
	scorev1connect.JobServiceRequeueJobProcedure:             owner,
	scorev1connect.JobServiceHoldJobProcedure:                owner,
	scorev1connect.JobServiceReleaseJobProcedure:             owner,
	scorev1connect.JobServiceWaitJobProcedure:                public,
	scorev1connect.JobServiceListChannelsProcedure:           own,
	scorev1connect.JobServiceStageProcedure:                  anybody,
	scorev1connect.JobServiceListStagedProcedure:             own,
	scorev1connect.JobServiceGetHistoryProcedure:             own,
	scorev1connect.ClusterServiceListNodesProcedure:          anybody,
	scorev1connect.ClusterServiceDrainNodeProcedure:          operator,
	scorev1connect.ClusterServiceResumeNodeProcedure:         operator,
	scorev1connect.ClusterServiceRemoveNodeProcedure:         admin,
	scorev1connect.ClusterServiceGetSettingsProcedure:        anybody,
	scorev1connect.ClusterServiceSetSettingsProcedure:        admin,
	scorev1connect.ClusterServiceSwitchMetricsProcedure:      anybody,
	scorev1connect.ClusterServiceGetMatrixProcedure:          anybody,
	scorev1connect.ClusterServiceGetTopProcedure:             anybody,
	scorev1connect.ClusterServiceGetVersionProcedure:         anybody,
	scorev1connect.ClusterServiceListUsersProcedure:          own,
	scorev1connect.ClusterServiceSetUserProcedure:            admin,
	scorev1connect.ClusterServiceSaveSnapshotProcedure:       admin,
	scorev1connect.ClusterServiceCreateTokenProcedure:        admin,
	scorev1connect.ClusterServiceListTokensProcedure:         admin,
	scorev1connect.ClusterServiceRemoveTokenProcedure:        admin,
	scorev1connect.ClusterServiceListCertificatesProcedure:   anybody,
	scorev1connect.ClusterServiceRevokeCertificatesProcedure: admin,
	scorev1connect.ClusterServiceListServersProcedure:        anybody,
	scorev1connect.ClusterServiceRemoveServerProcedure:       admin,
	scorev1connect.ClusterServiceStepDownProcedure:           admin,
}

// authorize identifies the caller and checks that they may call the method at all.
func authorize(ctx context.Context, procedure string, callerOf func(uid uint32, admin bool) leader.Caller) (context.Context, error) {
	identity, err := identityOf(ctx)
	if err != nil {
		return nil, connect.NewError(connect.CodeUnauthenticated, err)
	}
	agent := agentOf(ctx)
	caller := callerOf(identity.GetUid(), agent == "" && isAdmin(identity.GetUid()))
	if agent != "" {
		caller.Role = min(caller.Role, scorev1.Role_ROLE_USER)
	}
	role, known := minRole[rules[procedure]]
	switch {
	case !known:
		return nil, connect.NewError(connect.CodePermissionDenied, fmt.Errorf("there is no method %s", procedure))
	case caller.Role < role:
		return nil, connect.NewError(connect.CodePermissionDenied, denied(role))
	}
	return context.WithValue(ctx, callerKey{}, caller), nil
}

// denied returns the error for callers who need the role.
func denied(role scorev1.Role) error {
	who := "administrators"
	if role == scorev1.Role_ROLE_OPERATOR {
		who = "operators and administrators"
	}
	system := "root"
	if uid := os.Getuid(); uid != 0 {
		system += ", " + userName(uint32(uid)) + ", as whom the server runs,"
	}
	return fmt.Errorf("only %s may do that: %s and users with such a role ('scored user set')", who, system)
}

type callerKey struct{}

// callerOf returns the caller; authorize has put it into ctx.
func callerOf(ctx context.Context) leader.Caller {
	caller, _ := ctx.Value(callerKey{}).(leader.Caller)
	return caller
}
