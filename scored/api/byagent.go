package api

import (
	"errors"
	"fmt"
	"score/scored/api/scorev1/scorev1connect"

	"connectrpc.com/connect"
)

// way is whether agents forward a method for the users of their host.
type way uint8

const (
	unknown way = iota
	// byAgents: agents forward it, and the caller then has no more than the role of a user.
	byAgents
	// atServers: it needs another role than a user's, which no caller has through an agent.
	atServers
)

// users has, for each method of the services for users, whether it may be called through an agent.
// The role that it needs, and for whose jobs, is in scored/rpc, where a test checks that both
// tables agree.
var users = map[string]way{
	scorev1connect.JobServiceSubmitProcedure:                 byAgents,
	scorev1connect.JobServiceAttachProcedure:                 byAgents,
	scorev1connect.JobServiceConfirmOutputProcedure:          byAgents,
	scorev1connect.JobServiceDumpJobProcedure:                byAgents,
	scorev1connect.JobServiceListJobsProcedure:               byAgents,
	scorev1connect.JobServiceGetJobProcedure:                 byAgents,
	scorev1connect.JobServiceExplainJobProcedure:             byAgents,
	scorev1connect.JobServiceCancelJobProcedure:              byAgents,
	scorev1connect.JobServiceSignalJobProcedure:              byAgents,
	scorev1connect.JobServiceRequeueJobProcedure:             byAgents,
	scorev1connect.JobServiceHoldJobProcedure:                byAgents,
	scorev1connect.JobServiceReleaseJobProcedure:             byAgents,
	scorev1connect.JobServiceWaitJobProcedure:                byAgents,
	scorev1connect.JobServiceListChannelsProcedure:           byAgents,
	scorev1connect.JobServiceStageProcedure:                  byAgents,
	scorev1connect.JobServiceListStagedProcedure:             byAgents,
	scorev1connect.JobServiceGetHistoryProcedure:             byAgents,
	scorev1connect.ClusterServiceListNodesProcedure:          byAgents,
	scorev1connect.ClusterServiceDrainNodeProcedure:          atServers,
	scorev1connect.ClusterServiceResumeNodeProcedure:         atServers,
	scorev1connect.ClusterServiceRemoveNodeProcedure:         atServers,
	scorev1connect.ClusterServiceGetSettingsProcedure:        byAgents,
	scorev1connect.ClusterServiceSetSettingsProcedure:        atServers,
	scorev1connect.ClusterServiceSwitchMetricsProcedure:      byAgents,
	scorev1connect.ClusterServiceGetMatrixProcedure:          byAgents,
	scorev1connect.ClusterServiceGetTopProcedure:             byAgents,
	scorev1connect.ClusterServiceGetVersionProcedure:         byAgents,
	scorev1connect.ClusterServiceListUsersProcedure:          byAgents,
	scorev1connect.ClusterServiceSetUserProcedure:            atServers,
	scorev1connect.ClusterServiceSaveSnapshotProcedure:       atServers,
	scorev1connect.ClusterServiceCreateTokenProcedure:        atServers,
	scorev1connect.ClusterServiceListTokensProcedure:         atServers,
	scorev1connect.ClusterServiceRemoveTokenProcedure:        atServers,
	scorev1connect.ClusterServiceListCertificatesProcedure:   byAgents,
	scorev1connect.ClusterServiceRevokeCertificatesProcedure: atServers,
	scorev1connect.ClusterServiceListServersProcedure:        byAgents,
	scorev1connect.ClusterServiceRemoveServerProcedure:       atServers,
	scorev1connect.ClusterServiceStepDownProcedure:           atServers,
}

// errAtServers refuses users of a host with only an agent what needs another role.
var errAtServers = errors.New(
	"that is for operators and administrators, whom servers know only by the socket of their own host: on this host, which has only an agent, everybody is a user like any other; run it on a host where 'scored server' runs",
)

// ByAgent returns an error for methods that may not be called through an agent.
func ByAgent(procedure string) error {
	switch users[procedure] {
	case byAgents:
		return nil
	case atServers:
		return connect.NewError(connect.CodePermissionDenied, errAtServers)
	default:
		return connect.NewError(connect.CodePermissionDenied, fmt.Errorf("there is no such call: %.100q", procedure))
	}
}
