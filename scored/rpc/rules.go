package rpc

import (
	"context"
	"fmt"
	"os"

	"connectrpc.com/connect"

	"score/scored/api/scorev1/scorev1connect"
	"score/scored/leader"
)

// rule says who may call a method.
type rule uint8

const (
	forbidden rule = iota // what no table names is forbidden
	anybody               // every user of the host
	owner                 // of the job the request names, and administrators
	admin                 // root, and the user as whom the server runs
)

// rules is the one table of who may do what. Where it says owner, package
// leader compares, since it has the job.
var rules = map[string]rule{
	scorev1connect.JobServiceSubmitProcedure:                 anybody,
	scorev1connect.JobServiceAttachProcedure:                 owner,
	scorev1connect.JobServiceConfirmOutputProcedure:          owner, // who attached is compared
	scorev1connect.JobServiceListJobsProcedure:               anybody,
	scorev1connect.JobServiceGetJobProcedure:                 anybody,
	scorev1connect.JobServiceExplainJobProcedure:             anybody,
	scorev1connect.JobServiceCancelJobProcedure:              owner,
	scorev1connect.JobServiceSignalJobProcedure:              owner,
	scorev1connect.JobServiceWaitJobProcedure:                anybody,
	scorev1connect.JobServiceListChannelsProcedure:           owner,
	scorev1connect.JobServiceDumpJobProcedure:                owner,
	scorev1connect.ClusterServiceListNodesProcedure:          anybody,
	scorev1connect.ClusterServiceGetSettingsProcedure:        anybody,
	scorev1connect.ClusterServiceSetSettingsProcedure:        admin,
	scorev1connect.ClusterServiceSwitchMetricsProcedure:      anybody,
	scorev1connect.ClusterServiceGetMatrixProcedure:          anybody,
	scorev1connect.ClusterServiceGetTopProcedure:             anybody,
	scorev1connect.ClusterServiceGetVersionProcedure:         anybody,
	scorev1connect.ClusterServiceCreateTokenProcedure:        admin,
	scorev1connect.ClusterServiceListTokensProcedure:         admin,
	scorev1connect.ClusterServiceRemoveTokenProcedure:        admin,
	scorev1connect.ClusterServiceListCertificatesProcedure:   anybody,
	scorev1connect.ClusterServiceRevokeCertificatesProcedure: admin,
}

// authorize finds out who calls and whether they may call this method at all.
func authorize(ctx context.Context, procedure string) (context.Context, error) {
	identity, err := identityOf(ctx)
	if err != nil {
		return nil, connect.NewError(connect.CodeUnauthenticated, err)
	}
	caller := leader.Caller{UID: identity.GetUid(), Admin: isAdmin(identity.GetUid())}
	switch rules[procedure] {
	case anybody, owner:
	case admin:
		if !caller.Admin {
			return nil, connect.NewError(connect.CodePermissionDenied,
				fmt.Errorf("only root and %s, as whom the server runs, may do that", userName(uint32(os.Getuid()))))
		}
	default:
		return nil, connect.NewError(connect.CodePermissionDenied, fmt.Errorf("nobody may call %s", procedure))
	}
	return context.WithValue(ctx, callerKey{}, caller), nil
}

type callerKey struct{}

// callerOf is who calls; authorize has put it there.
func callerOf(ctx context.Context) leader.Caller {
	caller, _ := ctx.Value(callerKey{}).(leader.Caller)
	return caller
}
