package api

import "score/scored/api/scorev1/scorev1connect"

// repeatable are users' calls that may be repeated when it is unknown whether they were carried
// out: they only read, or they are idempotent and the second answer is right, too, whatever others
// do meanwhile.
var repeatable = map[string]bool{
	scorev1connect.JobServiceListJobsProcedure:             true,
	scorev1connect.JobServiceGetJobProcedure:               true,
	scorev1connect.JobServiceExplainJobProcedure:           true,
	scorev1connect.JobServiceWaitJobProcedure:              true,
	scorev1connect.JobServiceListChannelsProcedure:         true,
	scorev1connect.JobServiceListStagedProcedure:           true,
	scorev1connect.JobServiceGetHistoryProcedure:           true,
	scorev1connect.JobServiceConfirmOutputProcedure:        true, // more is never taken back
	scorev1connect.JobServiceCancelJobProcedure:            true, // and nothing undoes it
	scorev1connect.ClusterServiceListNodesProcedure:        true,
	scorev1connect.ClusterServiceGetSettingsProcedure:      true,
	scorev1connect.ClusterServiceSwitchMetricsProcedure:    true,
	scorev1connect.ClusterServiceGetMatrixProcedure:        true,
	scorev1connect.ClusterServiceGetTopProcedure:           true,
	scorev1connect.ClusterServiceGetVersionProcedure:       true,
	scorev1connect.ClusterServiceListTokensProcedure:       true,
	scorev1connect.ClusterServiceListCertificatesProcedure: true,
	scorev1connect.ClusterServiceListUsersProcedure:        true,
	scorev1connect.ClusterServiceListServersProcedure:      true,
}

// once are the calls that may not be repeated, with the reasons.
var once = map[string]string{
	scorev1connect.JobServiceSubmitProcedure:                 "two jobs, unless it has a key, see KeyedSubmit",
	scorev1connect.JobServiceSignalJobProcedure:              "two signals",
	scorev1connect.JobServiceRequeueJobProcedure:             "the job may have restarted meanwhile, and would restart again",
	scorev1connect.JobServiceHoldJobProcedure:                "somebody may have released the job meanwhile",
	scorev1connect.JobServiceReleaseJobProcedure:             "somebody may have held the job meanwhile",
	scorev1connect.ClusterServiceDrainNodeProcedure:          "somebody may have resumed the node meanwhile",
	scorev1connect.ClusterServiceResumeNodeProcedure:         "somebody may have drained the node meanwhile",
	scorev1connect.ClusterServiceRemoveNodeProcedure:         "a node of that name may have joined meanwhile",
	scorev1connect.ClusterServiceSetSettingsProcedure:        "somebody may have set another value meanwhile",
	scorev1connect.ClusterServiceSetUserProcedure:            "somebody may have set another value meanwhile",
	scorev1connect.ClusterServiceCreateTokenProcedure:        "two tokens",
	scorev1connect.ClusterServiceRemoveTokenProcedure:        "the second answer is that there is no such token",
	scorev1connect.ClusterServiceRevokeCertificatesProcedure: "the daemon may have joined again meanwhile",
	scorev1connect.ClusterServiceRemoveServerProcedure:       "a server of that name may have joined meanwhile",
	scorev1connect.ClusterServiceStepDownProcedure:           "another server leads meanwhile, and would step down, too",
}

// Repeatable reports whether a call may be repeated when it is unknown whether it was carried out.
// Submissions (KeyedSubmit) may be repeated if they have a key.
func Repeatable(procedure string) bool { return repeatable[procedure] }

// KeyedSubmit is a procedure whose calls may be repeated if their request has a key.
const KeyedSubmit = scorev1connect.JobServiceSubmitProcedure
