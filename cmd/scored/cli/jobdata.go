package cli

import (
	"score/cmd/cmdline"
	"score/scored/api/scorev1"
	"score/scored/api/texts"
	"strings"
)

// jobData is a job as --json prints it. Times are nanoseconds, instants count
// from the Unix epoch.
type jobData struct {
	ID             uint64       `json:"id"`
	Name           string       `json:"name"`
	User           string       `json:"user"`
	UID            uint32       `json:"uid"`
	State          string       `json:"state"`
	Command        []string     `json:"command"`                  // with escapes for what is not UTF-8; then
	CommandBytes   [][]byte     `json:"command_base64,omitempty"` // has the arguments themselves
	Directory      string       `json:"directory"`                // likewise
	DirectoryBytes []byte       `json:"directory_base64,omitempty"`
	Tasks          uint32       `json:"tasks"`
	Nodes          uint32       `json:"nodes"`
	CPUsPerTask    uint32       `json:"cpus_per_task"`
	MemoryPerNode  uint64       `json:"memory_per_node_bytes"`
	Priority       int32        `json:"priority"`
	Exclusive      bool         `json:"exclusive"`
	Oversubscribe  bool         `json:"oversubscribe"`
	NodeList       []string     `json:"node_list"`    // nodes that it must have
	ExcludeList    []string     `json:"exclude_list"` // nodes that it must not get
	Detached       bool         `json:"detached"`
	TimeLimitNanos int64        `json:"time_limit_nanos"`
	SubmittedNanos int64        `json:"submitted_nanos"`
	StartedNanos   int64        `json:"started_nanos"`
	EndedNanos     int64        `json:"ended_nanos"`
	Row            int32        `json:"row"`
	AlsoRows       []uint32     `json:"also_rows"`
	Places         []placeData  `json:"places"`
	WaitingFor     string       `json:"waiting_for,omitempty"`
	Hold           *holdData    `json:"hold,omitempty"`
	Dependency     string       `json:"dependency,omitempty"` // as for scrun
	Idle           *idleData    `json:"idle,omitempty"`
	ParentJob      uint64       `json:"parent_job,omitempty"`
	Requeue        bool         `json:"requeue"`
	Restarts       uint32       `json:"restarts"`
	Because        string       `json:"because,omitempty"`
	Verdict        *verdictData `json:"verdict,omitempty"`
	Usage          usageData    `json:"usage"`
	Start          *startData   `json:"start,omitempty"`
}

type placeData struct {
	Node  string   `json:"node"`
	Ranks []uint32 `json:"ranks"`
	CPUs  []uint32 `json:"cpus"`
}

type holdData struct {
	By       string `json:"by"`
	Operator bool   `json:"operator"` // only operators may release the job
}

func newHoldData(hold *scorev1.Hold) *holdData {
	if hold == nil {
		return nil
	}
	return &holdData{hold.GetBy(), hold.GetOperator()}
}

type verdictData struct {
	Reason   string `json:"reason"`
	ExitCode int32  `json:"exit_code"`
	Message  string `json:"message"`
	Rank     int32  `json:"rank"`
	Node     string `json:"node"`
}

type usageData struct {
	CPUNanos    int64         `json:"cpu_nanos"`
	RunNanos    int64         `json:"run_nanos"`
	Slices      uint64        `json:"slices"`
	LateFreezes uint64        `json:"late_freezes"`
	MaxRSSBytes uint64        `json:"max_rss_bytes"`
	SwitchNanos int64         `json:"switch_nanos"`
	Messages    *messagesData `json:"messages,omitempty"`
	Fences      *fencesData   `json:"fences,omitempty"`
}

type rankData struct {
	Rank     uint32 `json:"rank"`
	Node     string `json:"node"`
	PID      int32  `json:"pid"`
	State    string `json:"state"`
	ExitCode int32  `json:"exit_code"`
	Signal   int32  `json:"signal"`
	CPUNanos int64  `json:"cpu_nanos"`
}

func newJobData(job *scorev1.Job) jobData {
	spec := job.GetSpec()
	data := jobData{
		ID:             job.GetId(),
		Name:           spec.GetName(),
		User:           userName(job),
		UID:            job.GetUser().GetUid(),
		State:          jobStateWord(job),
		Command:        []string{},
		Directory:      texts.UTF8(spec.GetWorkDir()),
		Tasks:          spec.GetTasks(),
		Nodes:          max(spec.GetNodes(), uint32(len(job.GetPlaces()))),
		CPUsPerTask:    max(1, spec.GetCpusPerTask()),
		MemoryPerNode:  spec.GetMemoryPerNodeBytes(),
		Priority:       spec.GetPriority(),
		Exclusive:      spec.GetExclusive(),
		Oversubscribe:  spec.GetOversubscribe(),
		NodeList:       nonNil(spec.GetNodeList()),
		ExcludeList:    nonNil(spec.GetExcludeList()),
		Detached:       spec.GetDetached(),
		TimeLimitNanos: spec.GetTimeLimitNanos(),
		SubmittedNanos: job.GetSubmittedNanos(),
		StartedNanos:   job.GetStartedNanos(),
		EndedNanos:     job.GetEndedNanos(),
		Row:            job.GetRow(),
		AlsoRows:       nonNil(job.GetAlsoRows()),
		Places:         []placeData{},
		WaitingFor:     job.GetWaitingFor(),
		Hold:           newHoldData(job.GetHold()),
		Dependency:     cmdline.FormatDependencies(spec.GetDependencies()),
		Idle:           newIdleData(job.GetIdle()),
		ParentJob:      job.GetParentJob(),
		Requeue:        spec.GetRequeue(),
		Restarts:       job.GetRestarts(),
		Because:        texts.UTF8(job.GetBecause()),
		Usage:          newUsageData(job.GetUsage()),
		Start:          newStartData(job),
	}
	data.setBytes(spec)
	for _, place := range job.GetPlaces() {
		data.Places = append(data.Places, placeData{place.GetNode(), nonNil(place.GetRanks()), nonNil(place.GetCpus())})
	}
	if verdict := job.GetVerdict(); verdict != nil {
		data.Verdict = &verdictData{
			Reason: reasonWord(verdict.GetReason()), ExitCode: verdict.GetExitCode(),
			Message: texts.UTF8(verdict.GetMessage()), Rank: verdict.GetRank(), Node: verdict.GetNode(),
		}
	}
	return data
}

// setBytes sets the fields for texts that are not UTF-8, which JSON cannot hold.
func (d *jobData) setBytes(spec *scorev1.JobSpec) {
	argv, directory := spec.GetArgv(), spec.GetWorkDir()
	for _, argument := range argv {
		d.Command = append(d.Command, texts.UTF8(argument))
	}
	if !texts.Valid(argv...) {
		for _, argument := range argv {
			d.CommandBytes = append(d.CommandBytes, []byte(argument))
		}
	}
	if !texts.Valid(directory) {
		d.DirectoryBytes = []byte(directory)
	}
}

func newUsageData(usage *scorev1.Usage) usageData {
	return usageData{
		CPUNanos: usage.GetCpuNanos(), RunNanos: usage.GetRunNanos(), Slices: usage.GetSlices(),
		LateFreezes: usage.GetLateFreezes(), MaxRSSBytes: usage.GetMaxRssBytes(), SwitchNanos: usage.GetSwitchNanos(),
		Messages: newMessagesData(usage.GetMessages()), Fences: newFencesData(usage.GetFences()),
	}
}

func newRankData(rank *scorev1.RankState) rankData {
	return rankData{
		Rank: rank.GetRank(), Node: rank.GetNode(), PID: rank.GetPid(), State: rank.GetState(),
		ExitCode: rank.GetExitCode(), Signal: rank.GetSignal(), CPUNanos: rank.GetCpuNanos(),
	}
}

// nonNil replaces nil by an empty list, which is [] in JSON, so that programs need no case for
// null.
func nonNil[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// stateWord returns a state in lower case: "running".
func stateWord(state scorev1.JobState) string {
	return strings.ToLower(strings.TrimPrefix(state.String(), "JOB_STATE_"))
}

// reasonWord returns why a job ended, in lower case: "time limit".
func reasonWord(reason scorev1.EndReason) string {
	word := strings.ToLower(strings.TrimPrefix(reason.String(), "END_REASON_"))
	return strings.ReplaceAll(word, "_", " ")
}

func userName(job *scorev1.Job) string {
	if name := job.GetUser().GetUser(); name != "" {
		return name
	}
	return numbers([]uint32{job.GetUser().GetUid()})
}
