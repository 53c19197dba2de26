package cli

import (
	"errors"
	"fmt"
	"score/scored/api/scorev1"
	"score/scored/client/clienttest"
	"slices"
	"strings"
	"testing"

	"connectrpc.com/connect"
)

// at is an instant of the examples, seconds after a fixed one.
func at(seconds int64) int64 { return (1_790_000_000 + seconds) * 1e9 }

// jobs are one of each kind.
func exampleJobs() []*scorev1.Job {
	user := &scorev1.Identity{Uid: 1000, User: "ann"}
	return []*scorev1.Job{
		{
			Id:             3,
			User:           user,
			State:          scorev1.JobState_JOB_STATE_RUNNING,
			SubmittedNanos: at(0),
			StartedNanos:   at(1),
			Spec: &scorev1.JobSpec{
				Name: "ocean", Argv: []string{"./ocean", "-x", "9"}, WorkDir: "/home/ann", Tasks: 4, Nodes: 2,
				CpusPerTask: 2, MemoryPerNodeBytes: 3 << 29, Priority: 10, TimeLimitNanos: 90 * 60 * 1e9,
			},
			Row:      1,
			AlsoRows: []uint32{2},
			Places: []*scorev1.NodePlace{
				{Node: "n1", Ranks: []uint32{0, 1}, Cpus: []uint32{0, 1, 2, 3}},
				{Node: "n2", Ranks: []uint32{2, 3}, Cpus: []uint32{4, 6}},
			},
			Usage: &scorev1.Usage{
				CpuNanos:    71_400_000_000,
				RunNanos:    35_700_000_000,
				Slices:      357,
				LateFreezes: 1,
				MaxRssBytes: 12 << 20,
				SwitchNanos: 42_840_000,
				Messages:    exampleMessages(2),
			},
		},
		{
			Id: 4, User: user, State: scorev1.JobState_JOB_STATE_QUEUED, SubmittedNanos: at(5), Row: -1, WaitingFor: "CPUs on 2 nodes",
			Spec: &scorev1.JobSpec{
				Name: "evil\x1b[2Jname", Argv: []string{"prog"}, WorkDir: "/", Tasks: 64, Exclusive: true,
				NodeList: []string{"n1"}, ExcludeList: []string{"n3", "n4", "n5"},
			},
		},
		{
			Id: 2, User: &scorev1.Identity{Uid: 1001}, State: scorev1.JobState_JOB_STATE_DONE,
			SubmittedNanos: at(-100), StartedNanos: at(-99), EndedNanos: at(-50), Row: -1,
			Spec:   &scorev1.JobSpec{Name: "crash", Argv: []string{"crash"}, WorkDir: "/tmp", Tasks: 1},
			Places: []*scorev1.NodePlace{{Node: "n1", Ranks: []uint32{0}, Cpus: []uint32{0}}},
			Usage:  &scorev1.Usage{RunNanos: 49 * 1e9, CpuNanos: 48 * 1e9, Slices: 1},
			Verdict: &scorev1.Verdict{
				Reason: scorev1.EndReason_END_REASON_RANK_FAILED, ExitCode: 139, Rank: 0, Node: "n1",
				Message: "rank 0 on node n1 was killed by signal 11 (SIGSEGV); the job was ended",
			},
		},
	}
}

// exampleHeld is a held job that waits for others, too. Lists do not have it.
func exampleHeld() *scorev1.Job {
	return &scorev1.Job{
		Id: 7, User: &scorev1.Identity{Uid: 1000, User: "ann"}, State: scorev1.JobState_JOB_STATE_QUEUED, SubmittedNanos: at(6), Row: -1,
		WaitingFor: "its release: held by root and job 3 to end with exit code 0", Hold: &scorev1.Hold{By: "root", Operator: true},
		Spec: &scorev1.JobSpec{
			Name: "next", Argv: []string{"./next"}, WorkDir: "/", Tasks: 2, Hold: true,
			Dependencies: []*scorev1.Dependency{{Kind: scorev1.DependencyKind_DEPENDENCY_KIND_AFTER_OK, JobIds: []uint64{3, 4}}},
		},
	}
}

func exampleUsers(name string) ([]*scorev1.User, error) {
	ann := &scorev1.User{
		Uid: 1000, Name: "ann", Role: scorev1.Role_ROLE_OPERATOR, Share: 200, CpuMicros: 7.2e9, HeldMicros: 7.3e9, RecentMicros: 1e9,
		JobsEnded: 12, Jobs: 3, Running: 2, Cpus: 16, Points: 7200,
		Limits: &scorev1.UserLimits{Running: 2, MemoryPerNodeBytes: 2 << 30, TimeNanos: 12 * 3600 * 1e9},
	}
	bob := &scorev1.User{Uid: 1001, Name: "bob", Role: scorev1.Role_ROLE_USER, Share: 100}
	switch name {
	case "ann":
		return []*scorev1.User{ann}, nil
	case "bob":
		return []*scorev1.User{bob}, nil
	}
	return []*scorev1.User{ann, bob}, nil
}

func exampleNodes() []*scorev1.Node {
	return []*scorev1.Node{
		{
			Name:                    "n1",
			Address:                 "127.0.0.1:7421",
			Cpus:                    8,
			MemoryBytes:             16 << 30,
			MemoryUsedBytes:         3 << 29,
			Jobs:                    2,
			JobIds:                  []uint64{3, 8},
			Up:                      true,
			Version:                 "v1",
			State:                   scorev1.NodeState_NODE_STATE_DRAINING,
			SinceNanos:              at(8),
			HeardNanos:              at(19),
			DrainReason:             "new\tdisk",
			DrainedBy:               "ann",
			DrainedNanos:            at(8),
			DrainRequeue:            true,
			Certificate:             "agent n1 of cluster lab",
			CertificateExpiresNanos: at(86400),
			ClockOffsetNanos:        7,
			WallOffsetNanos:         -1_200_000,
			ClockErrorNanos:         8_300,
			RoundTripNanos:          120_000,
			Link:                    "tipc 18888",
			Bearers:                 []string{"eth:eth0"},
		},
		{
			Name:         "n2",
			Address:      "127.0.0.1:7422",
			Cpus:         1,
			MemoryBytes:  1000 << 20,
			Version:      "v1",
			State:        scorev1.NodeState_NODE_STATE_LOST,
			SinceNanos:   at(2),
			SharesCpus:   true,
			Channels:     16,
			ChannelsUsed: 12,
			Notes:        []string{"no cgroups: not root"},
		},
	}
}

func exampleSwitches(r *scorev1.SwitchMetricsRequest) *scorev1.SwitchMetricsResponse {
	times := func(step string, median int64) *scorev1.StepTimes {
		return &scorev1.StepTimes{Step: step, Count: 100, MedianNanos: median, P99Nanos: 3 * median, MaxNanos: 10 * median, SumNanos: 110 * median}
	}
	return &scorev1.SwitchMetricsResponse{
		Groups: []*scorev1.SwitchMetricsResponse_Group{{
			Node: "n1", JobId: r.GetJobId(),
			Steps:   []*scorev1.StepTimes{times("stop", 12_000), {Step: "flush"}, times("go", 31_000)},
			Flushes: &scorev1.Flushes{Clean: 98, CutOff: 2},
		}},
		Skew: times("", 4_100), ToRunning: times("", 95_000), MissedBoundaries: 2, LateFreezes: 1,
	}
}

// example is a cluster with a bit of everything.
func example(t *testing.T) clienttest.Daemon {
	find := func(id uint64) (*scorev1.Job, error) {
		for _, job := range append(exampleJobs(), exampleHeld()) {
			if job.GetId() == id {
				return job, nil
			}
		}
		return nil, connect.NewError(connect.CodeNotFound, fmt.Errorf("there is no job %d", id))
	}
	return clienttest.Daemon{
		ListJobs: func(r *scorev1.ListJobsRequest) (*scorev1.ListJobsResponse, error) {
			reply := &scorev1.ListJobsResponse{}
			for _, job := range exampleJobs() {
				done := job.GetState() == scorev1.JobState_JOB_STATE_DONE
				if (r.GetAll() || !done) && (r.GetUser() == "" || r.GetUser() == job.GetUser().GetUser()) &&
					(len(r.GetStates()) == 0 || slices.Contains(r.GetStates(), job.GetState())) {
					reply.Jobs = append(reply.Jobs, job)
				}
			}
			// One job for each answer; After counts those before.
			after := r.GetPage().GetAfter()
			if rest := uint64(len(reply.GetJobs())) - after; rest > 1 {
				reply.Next = &scorev1.JobPage{After: after + 1}
				reply.Jobs = reply.GetJobs()[:after+1]
			}
			reply.Jobs = reply.GetJobs()[after:]
			return reply, nil
		},
		GetJob: func(id uint64) (*scorev1.GetJobResponse, error) {
			job, err := find(id)
			reply := &scorev1.GetJobResponse{Job: job}
			if id == 3 {
				reply.Ranks = []*scorev1.RankState{
					{Rank: 0, Node: "n1", Pid: 101, State: "running", CpuNanos: 35e9},
					{Rank: 1, Node: "n1", Pid: 102, State: "exited", ExitCode: 3},
					{Rank: 2, Node: "n2", Pid: 201, State: "frozen"},
					{Rank: 3, Node: "n2", Pid: 202, State: "killed", Signal: 9},
				}
				reply.Nodes = exampleShares()
				reply.MeasuredSinceNanos = at(20)
			}
			return reply, err
		},
		Staged: func(r *scorev1.ListStagedRequest) *scorev1.ListStagedResponse {
			reply := &scorev1.ListStagedResponse{Silent: []string{"n2"}, Unconnected: []string{"n3", "n4"}}
			if !r.GetClear() {
				reply.Staged = []*scorev1.Staged{{Node: "n1", Uid: 1001, User: "ann", Files: 2, Bytes: 4096, Held: 1}}
				reply.Unconnected = []string{"n3"}
			}
			return reply
		},
		Explain: func(id uint64) (*scorev1.ExplainJobResponse, error) {
			return &scorev1.ExplainJobResponse{Lines: []string{"Job 4 waits for CPUs.", "One job goes first."}, Resource: "cpus", JobsBefore: 1}, nil
		},
		Cancel: func(id uint64) error {
			_, err := find(id)
			return err
		},
		Requeue: func(r *scorev1.RequeueJobRequest) error {
			if r.GetJobId() == 4 && r.GetReason() == "disk" {
				return connect.NewError(connect.CodeFailedPrecondition, errors.New("job 4 waits in the queue"))
			}
			return nil
		},
		Hold: func(id uint64) error {
			if id == 3 {
				return connect.NewError(connect.CodeFailedPrecondition, errors.New("job 3 does not wait any more"))
			}
			return nil
		},
		Release: func(id uint64) error {
			if id == 7 {
				return connect.NewError(connect.CodePermissionDenied, errors.New("job 7 is held by root"))
			}
			return nil
		},
		Signal: func(id uint64, signal int32) error {
			if signal != 10 {
				t.Errorf("signal %d", signal)
			}
			return nil
		},
		Wait:  find,
		Nodes: exampleNodes,
		Now:   at(19) + 400e6,
		DrainNode: func(r *scorev1.DrainNodeRequest) (*scorev1.Node, error) {
			if first := r.GetNode() == "n1"; r.GetNode() == "n9" || first != r.GetRequeue() || first != (r.GetReason() == "disk") {
				return nil, connect.NewError(connect.CodeInvalidArgument, fmt.Errorf("there is no node %s", r.GetNode()))
			}
			return exampleNodes()[0], nil
		},
		ResumeNode: func(name string) error {
			if name != "n1" {
				return connect.NewError(connect.CodeFailedPrecondition, fmt.Errorf("node %s is not drained", name))
			}
			return nil
		},
		RemoveNode: func(name string) (uint32, error) {
			if name != "n2" {
				return 0, connect.NewError(connect.CodeFailedPrecondition, fmt.Errorf("node %s has jobs", name))
			}
			return 2, nil
		},
		History: func(r *scorev1.GetHistoryRequest) (*scorev1.GetHistoryResponse, error) {
			if r.GetUser() == "ann" && (r.GetLimit() != 3 || r.GetSinceNanos() != at(0)-at(0)%(24*3600*1e9)) {
				t.Errorf("GetHistory(%v)", r)
			}
			return &scorev1.GetHistoryResponse{Jobs: exampleJobs()[2:]}, nil
		},
		Users: exampleUsers,
		SetUser: func(r *scorev1.SetUserRequest) error {
			v := r.GetValues()
			if r.GetUser() != "ann" || strings.Join(r.GetFields(), ",") != "role,share,jobs,memory,time" || v.GetRole() != scorev1.Role_ROLE_OPERATOR ||
				v.GetShare() != 200 || v.GetLimits().GetJobs() != 0 || v.GetLimits().GetMemoryPerNodeBytes() != 2<<30 ||
				v.GetLimits().GetTimeNanos() != 12*3600*1e9 {
				t.Errorf("SetUser(%v)", r)
			}
			return nil
		},
		Settings: func() *scorev1.Settings {
			return &scorev1.Settings{SliceNanos: 1e8, MaxRows: 8, DefaultMemoryPerCpuBytes: 64 << 20}
		},
		Set: func(r *scorev1.SetSettingsRequest) error {
			field, s := strings.Join(r.GetFields(), ","), r.GetSettings()
			if (field != "slice_nanos" || s.GetSliceNanos() != 1e7) && (field != "age_per_point_nanos" || s.GetAgePerPointNanos() != 0) {
				t.Errorf("SetSettings(%v)", r)
			}
			return nil
		},
		Switches: exampleSwitches,
		Matrix: func() *scorev1.GetMatrixResponse {
			return &scorev1.GetMatrixResponse{PlanVersion: 12, Term: 2, RowOn: 1, Rows: []*scorev1.MatrixRow{
				{Index: 0, SliceNanos: 1e8, Cells: []*scorev1.MatrixRow_Cell{{Node: "n1", JobId: 1}, {Node: "n1", JobId: 5}}},
				{
					Index:      1,
					SliceNanos: 2e8,
					Cells:      []*scorev1.MatrixRow_Cell{{Node: "n2", JobId: 3}, {Node: "n1", JobId: 3}, {Node: "n1", JobId: 5, Alternate: true}},
				},
			}}
		},
		Top: func() (*scorev1.GetTopResponse, error) { return exampleTop(), nil },
		Version: func() *scorev1.GetVersionResponse {
			return &scorev1.GetVersionResponse{Version: "v1", Cluster: "lab", JobsRunning: 1, JobsQueued: 1}
		},
		Attach: func(job *clienttest.Attachment) {
			if job.Open.GetOwner() {
				t.Error("scored job attach owns the job: it would end with it")
			}
			job.Print(0, 1, "zero\nhalf")
			job.Print(1, 1, "one\n")
			job.End(9, "the job was cancelled")
		},
	}
}
