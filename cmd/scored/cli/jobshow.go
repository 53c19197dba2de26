package cli

import (
	"fmt"
	"io"
	"score/cmd/cmdline"
	"score/gang"
	"score/scored/api/plural"
	"score/scored/api/scorev1"
	"score/scored/client"
	"score/scored/client/phases"
	"strconv"
	"strings"
	"time"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"
)

func jobShowCommand(c *caller) *cobra.Command {
	var asJSON bool
	command := &cobra.Command{
		Use:   "show JOB",
		Short: "show a job, its ranks, its messages and the cost of its switches",
		Long: `Shows a job and its ranks.

Switches: how many there were in which the job was stopped or resumed, the mean cost of
one, and the time that the job lost to them.

Messages: how many the ranks sent and received by their own count, how many frames from
other nodes were refused (no room, or the gang was not on there), and how many were
sent again. Ranks update their counts when they are idle, and every 64 messages. Nodes
report once a second.

Of a finished job with long arguments the first 8 KiB are kept.

Bytes of arguments and directories that are not UTF-8 are shown as escapes (\xff).
With --json, command_base64 and directory_base64 hold such texts unchanged.

Start: when each phase of the job's start was over on each node.
` + phases.Explained,
		ValidArgsFunction: c.completeJob(allJobs),
		Args:              needs(1, "one job"),
		RunE: c.withJob(func(command *cobra.Command, id uint64, daemon *client.Client) error {
			reply, err := daemon.Jobs.GetJob(command.Context(), connect.NewRequest(&scorev1.GetJobRequest{JobId: id}))
			if err != nil {
				return err
			}
			if asJSON {
				return printJobJSON(command.OutOrStdout(), reply.Msg)
			}
			return printJob(command.OutOrStdout(), reply.Msg)
		}),
	}
	AddJSON(command, &asJSON)
	return command
}

func printJobJSON(out io.Writer, reply *scorev1.GetJobResponse) error {
	ranks := make([]rankData, 0, len(reply.GetRanks()))
	for _, rank := range reply.GetRanks() {
		ranks = append(ranks, newRankData(rank))
	}
	return printJSON(out, struct {
		Job                jobData     `json:"job"`
		Ranks              []rankData  `json:"ranks"`
		Shares             []shareData `json:"shares"`
		MeasuredSinceNanos int64       `json:"measured_since_nanos"`
	}{newJobData(reply.GetJob()), ranks, newSharesData(reply.GetNodes()), reply.GetMeasuredSinceNanos()})
}

func printJob(out io.Writer, reply *scorev1.GetJobResponse) error {
	t := newTable(out)
	for _, line := range jobLines(reply) {
		t.row(line[0], line[1])
	}
	if err := t.flush(); err != nil {
		return err
	}
	if err := printShares(out, reply); err != nil {
		return err
	}
	if lines := phases.Lines(reply.GetJob()); lines != nil {
		fmt.Fprintf(out, "\n%s\n", strings.Join(lines, "\n"))
	}
	if err := printWaits(out, reply.GetJob().GetIdle().GetWaits()); err != nil || len(reply.GetRanks()) == 0 {
		return err
	}
	fmt.Fprintln(out)
	t = newTable(out, "RANK", "NODE", "PID", "STATE", "CPU TIME")
	for _, rank := range reply.GetRanks() {
		t.row(strconv.Itoa(int(rank.GetRank())), rank.GetNode(), strconv.Itoa(int(rank.GetPid())),
			client.RankWords(rank), shortTime(time.Duration(rank.GetCpuNanos())))
	}
	return t.flush()
}

// jobLines returns the properties of a job that are worth a line.
func jobLines(reply *scorev1.GetJobResponse) [][2]string {
	job := reply.GetJob()
	spec, usage := job.GetSpec(), job.GetUsage()
	lines := [][2]string{
		{"job", strconv.FormatUint(job.GetId(), 10)},
		{"name", spec.GetName()},
		{"user", userName(job)},
		{"state", jobStateWord(job)},
		{"command", orDash(strings.Join(spec.GetArgv(), " "))},
		{"directory", orDash(spec.GetWorkDir())},
		{"asked for", askedWords(spec)},
		{"submitted", instant(job.GetSubmittedNanos())},
		{"started", instant(job.GetStartedNanos())},
	}
	if job.GetRestarts() > 0 {
		lines = append(lines, [2]string{"restarts", fmt.Sprintf("%d", job.GetRestarts())})
	}
	if job.GetBecause() != "" {
		lines = append(lines, [2]string{"requeued", job.GetBecause()})
	}
	lines = append(lines, idleLines(job.GetIdle())...)
	if job.GetState() == scorev1.JobState_JOB_STATE_QUEUED {
		lines = append(lines, [2]string{"waits for", orDash(job.GetWaitingFor())})
	}
	for _, place := range job.GetPlaces() {
		lines = append(lines, [2]string{"on " + place.GetNode(), fmt.Sprintf("ranks %s, CPUs %s", numbers(place.GetRanks()), numbers(place.GetCpus()))})
	}
	if len(job.GetPlaces()) > 0 {
		lines = append(lines, [2]string{"row", rowWords(job)})
	}
	lines = append(lines,
		[2]string{"run time", shortTime(time.Duration(usage.GetRunNanos())) + limitWords(spec)},
		[2]string{"CPU time", shortTime(time.Duration(usage.GetCpuNanos()))},
	)
	lines = append(lines, costLines(reply)...)
	lines = append(lines, [2]string{"largest rank", residentWords(usage)})
	if verdict := job.GetVerdict(); verdict != nil {
		lines = append(lines, [2]string{"ended", instant(job.GetEndedNanos())}, [2]string{"end", endWords(verdict)})
		if verdict.GetMessage() != "" {
			lines = append(lines, [2]string{"because", verdict.GetMessage()})
		}
	}
	return lines
}

func askedWords(spec *scorev1.JobSpec) string {
	words := []string{plural.Of(spec.GetTasks(), "rank", "ranks")}
	if spec.GetNodes() > 0 {
		words = append(words, "on "+plural.Of(spec.GetNodes(), "node", "nodes"))
	}
	if spec.GetCpusPerTask() > 1 {
		words = append(words, fmt.Sprintf("%d CPUs each", spec.GetCpusPerTask()))
	}
	if memory := spec.GetMemoryPerNodeBytes(); memory > 0 {
		words = append(words, gang.FormatMemory(int64(memory))+" per node")
	}
	if spec.GetPriority() != 0 {
		words = append(words, fmt.Sprintf("priority %d", spec.GetPriority()))
	}
	if spec.GetExclusive() {
		words = append(words, "exclusive")
	}
	if list := spec.GetNodeList(); len(list) > 0 {
		words = append(words, "with "+cmdline.FormatNodes(list))
	}
	if list := spec.GetExcludeList(); len(list) > 0 {
		words = append(words, "without "+cmdline.FormatNodes(list))
	}
	if len(spec.GetDependencies()) > 0 {
		words = append(words, cmdline.FormatDependencies(spec.GetDependencies()))
	}
	return strings.Join(words, ", ")
}

func limitWords(spec *scorev1.JobSpec) string {
	if spec.GetTimeLimitNanos() == 0 {
		return ""
	}
	return " of at most " + clockTime(time.Duration(spec.GetTimeLimitNanos()))
}

func rowWords(job *scorev1.Job) string {
	if len(job.GetAlsoRows()) == 0 {
		return rowWord(job)
	}
	return rowWord(job) + ", also in " + numbers(job.GetAlsoRows())
}
