package metrics

// The names of the metrics. Table has their meaning.
const (
	jobs             = "score_jobs"
	jobsIdle         = "score_jobs_idle"
	jobsDeadlocked   = "score_jobs_deadlocked"
	jobsHeld         = "score_jobs_held"
	jobsDependent    = "score_jobs_dependent"
	jobsSubmitted    = "score_jobs_submitted_total"
	jobsLaunched     = "score_jobs_launched_total"
	jobsEnded        = "score_jobs_ended_total"
	nodesUp          = "score_nodes_up"
	plans            = "score_rotation_plans_total"
	rotationRows     = "score_rotation_rows"
	commitSeconds    = "score_commit_seconds"
	rpcErrors        = "score_rpc_errors_total"
	switchSeconds    = "score_switch_seconds"
	skewSeconds      = "score_switch_skew_seconds"
	toRunningSeconds = "score_switch_to_running_seconds"
	missedBoundaries = "score_switch_missed_boundaries_total"
	lateFreezes      = "score_switch_late_freezes_total"
	flushes          = "score_switch_flushes_total"

	jobRunSeconds    = "score_job_run_seconds_total"
	jobSwitching     = "score_job_switching_seconds_total"
	jobSlices        = "score_job_slices_total"
	jobLateFreezes   = "score_job_late_freezes_total"
	jobMessages      = "score_job_messages_total"
	jobMessageBytes  = "score_job_message_bytes_total"
	jobRefusals      = "score_job_refusals_total"
	jobResent        = "score_job_resent_frames_total"
	jobCredits       = "score_job_credits_total"
	jobLanes         = "score_job_lanes_total"
	jobOneSided      = "score_job_one_sided_total"
	jobLongBytes     = "score_job_long_message_bytes_total"
	jobPiecesAgain   = "score_job_pieces_again_total"
	jobRendezvous    = "score_job_rendezvous_total"
	jobOpen          = "score_job_rendezvous_open"
	jobUnexpected    = "score_job_unexpected_bytes"
	jobGivenUp       = "score_job_peers_given_up_total"
	jobFlushes       = "score_job_flushes_total"
	jobSwitchSeconds = "score_job_switch_seconds"
	jobsLeftOut      = "score_job_series_left_out"
)

// Info declares one metric.
type Info struct {
	Name, Help, Unit string
	Labels           []string
}

// Table declares every metric of a server.
var Table = []Info{
	{jobs, "Jobs that have not ended, by state.", "jobs", []string{"state"}},
	{jobsIdle, "Running jobs with all ranks asleep until a message comes; they get no slices.", "jobs", nil},
	{jobsDeadlocked, "Idle jobs that nothing outside can wake.", "jobs", nil},
	{jobsHeld, "Waiting jobs that are held.", "jobs", nil},
	{jobsDependent, "Waiting jobs that wait for other jobs to start or end.", "jobs", nil},
	{jobsSubmitted, "Jobs committed since the server began to lead.", "jobs", nil},
	{jobsLaunched, "Jobs put into the rotation plan since the server began to lead.", "jobs", nil},
	{jobsEnded, "Jobs ended since the server began to lead, by reason.", "jobs", []string{"reason"}},
	{nodesUp, "Nodes whose agent is connected.", "nodes", nil},
	{plans, "Rotation plans made since the server began to lead.", "plans", nil},
	{rotationRows, "Rows of the present rotation plan.", "rows", nil},
	{commitSeconds, "Time from the decision of a log entry until it is on disk and applied.", "seconds", nil},
	{rpcErrors, "Calls refused or failed, by method and code.", "calls", []string{"method", "code"}},
	{switchSeconds, "Time of each measure of a switch, by node; quantile 1 is the longest.", "seconds", []string{"node", "measure"}},
	{skewSeconds, "Time between the first and the last node that runs the new gangs after a switch.", "seconds", nil},
	{toRunningSeconds, "Time from the planned instant of a switch until the new gangs run on all nodes.", "seconds", nil},
	{missedBoundaries, "Planned switches that passed before an agent woke.", "boundaries", nil},
	{lateFreezes, "Freezes that did not come in time.", "freezes", nil},
	{flushes, "Channels that left the network, with all answered, cut off, or held up by their program.", "channels", []string{"node", "kind"}},
	{jobRunSeconds, "Time that the job's gang was on.", "seconds", perJob},
	{jobSwitching, "Time the job lost to switching, from planned instants until it runs again.", "seconds", perJob},
	{jobSlices, "Slices that the job has had.", "slices", perJob},
	{jobLateFreezes, "Freezes of the job that did not come in time.", "freezes", perJob},
	{jobMessages, "Messages sent and received by the job's ranks, by their own count.", "messages", perJobKind},
	{jobMessageBytes, "Bytes of those messages.", "bytes", perJobKind},
	{jobRefusals, "Refusals: full, sends that found no space; nacked, frames from other nodes that were not accepted.", "events", perJobKind},
	{jobResent, "Frames sent to other nodes again.", "frames", perJob},
	{jobCredits, "Credits: requested, requests to ranks of other nodes; granted, credits given to such ranks.", "events", perJobKind},
	{jobLanes, "Exclusive lanes between ranks of a node: opened, given_back.", "lanes", perJobKind},
	{jobOneSided, "One-sided operations: direct, by load and store; mapped, windows that had to be mapped for them.", "operations", perJobKind},
	{
		jobLongBytes,
		"Bytes of long messages: copied by the kernel inside a node; streamed through channels or as bulk datagrams; " +
			"bulk, of the streamed ones those sent to other nodes as bulk datagrams.",
		"bytes",
		perJobKind,
	},
	{jobPiecesAgain, "Pieces of long messages from other nodes that were asked for again, because bulk datagrams were lost.", "pieces", perJob},
	{jobRendezvous, "Messages sent as rendezvous.", "messages", perJob},
	{jobOpen, "Rendezvous under way now.", "messages", perJob},
	{jobUnexpected, "Bytes of messages kept now that no rank has received yet.", "bytes", perJob},
	{jobGivenUp, "Ranks that others gave up because they broke the protocol.", "ranks", perJob},
	{jobFlushes, "The job's channels that left the network, with all answered, cut off, or held up by their program.", "channels", perJobKind},
	{
		jobSwitchSeconds,
		"Time of each measure of a switch in which the job took part; quantile 1 is the longest.",
		"seconds",
		[]string{"job", "node", "measure"},
	},
	{jobsLeftOut, "Pairs of a job and a node that the metrics by job leave out, because there are too many.", "pairs", nil},
}

// Labels of metrics by job. A job's series disappear when it ends.
var (
	perJob     = []string{"job", "node"}
	perJobKind = []string{"job", "node", "kind"}
)

// commitBuckets reach from a memory-backed log to a disk in trouble, in seconds.
var commitBuckets = []float64{20e-6, 50e-6, 100e-6, 200e-6, 500e-6, 1e-3, 2e-3, 5e-3, 10e-3, 50e-3, 0.25, 1}
