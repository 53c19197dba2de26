package cli

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"score/cmd/cmdline"
	"score/scored/api/scorev1"
	"score/scored/client"
	"strconv"
	"time"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"
)

func jobCommand(c *caller) *cobra.Command {
	return parent("job", "list, show, explain, hold, signal, requeue and cancel jobs",
		jobListCommand(c), jobShowCommand(c), jobExplainCommand(c), jobAttachCommand(c),
		jobCancelCommand(c), jobHoldCommand(c), jobReleaseCommand(c), jobSignalCommand(c), jobRequeueCommand(c), jobWaitCommand(c), jobDumpCommand(c))
}

// parseJob reads a job number.
func parseJob(argument string) (uint64, error) {
	id, err := strconv.ParseUint(argument, 10, 64)
	if err != nil || id == 0 {
		return 0, fmt.Errorf("%q is not a job number; 'scored job list' shows them", argument)
	}
	return id, nil
}

// parseJobs reads job numbers.
func parseJobs(arguments []string) ([]uint64, error) {
	ids := make([]uint64, 0, len(arguments))
	for _, argument := range arguments {
		id, err := parseJob(argument)
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// needs returns a check of the number of arguments. Its error says what the command expects.
func needs(limit int, what string) cobra.PositionalArgs {
	return func(_ *cobra.Command, arguments []string) error {
		switch {
		case len(arguments) == 0:
			return errors.New("name " + what)
		case limit > 0 && len(arguments) > limit:
			return errors.New("name " + what + " only")
		default:
			return nil
		}
	}
}

func jobListCommand(c *caller) *cobra.Command {
	var given listFlags
	var all bool
	command := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "list waiting and running jobs",
		Long: `Lists the jobs of all users that wait or run: the row of the gang matrix that a job is
in (ROW), the time that its gang was on (RUN TIME) and in how many slices (SLICES), and
where it runs, or what it waits for (WHERE). 'scored job explain' says more about one.

States: queued, it waits for nodes or other jobs; held, until 'scored job release';
starting, its nodes prepare; running; ending, its
ranks are being ended; done.`,
		Example: `  scored job list -u ann
  scored job list -s queued
  scored job list -a --since 24h`,
		Args: cmdline.NoArgs,
		RunE: c.with(func(command *cobra.Command, _ []string, daemon *client.Client) error {
			request, err := given.listRequest(all, time.Now())
			if err != nil {
				return err
			}
			jobs := daemon.ListJobs(command.Context(), request)
			if given.asJSON {
				return printJobsJSON(command.OutOrStdout(), jobs)
			}
			return printJobs(command.OutOrStdout(), jobs)
		}),
	}
	command.Flags().BoolVarP(&all, "all", "a", false, "finished jobs too, as far as they are kept")
	given.add(c, command, "jobs submitted", "jobs in these states only", jobStates)
	return command
}

// AddJSON adds the flag --json.
func AddJSON(command *cobra.Command, asJSON *bool) {
	command.Flags().BoolVar(asJSON, "json", false, "print one JSON object for programs")
}

// printJobsJSON prints jobs as they arrive.
func printJobsJSON(out io.Writer, jobs iter.Seq2[*scorev1.Job, error]) error {
	list := newJSONList(out, "jobs")
	for job, err := range jobs {
		if err != nil {
			return err
		}
		if err := list.add(newJobData(job)); err != nil {
			return err
		}
	}
	return list.close()
}

func printJobs(out io.Writer, jobs iter.Seq2[*scorev1.Job, error]) error {
	t := newTable(out, "ID", "NAME", "USER", "STATE", "RANKS", "ROW", "RUN TIME", "SLICES", "WHERE")
	for job, err := range jobs {
		if err != nil {
			return err
		}
		usage := job.GetUsage()
		t.row(strconv.FormatUint(job.GetId(), 10), job.GetSpec().GetName(), userName(job),
			jobStateWord(job), strconv.FormatUint(uint64(job.GetSpec().GetTasks()), 10), rowWord(job),
			shortTime(time.Duration(usage.GetRunNanos())), strconv.FormatUint(usage.GetSlices(), 10), whereWords(job))
	}
	return t.flush()
}

func rowWord(job *scorev1.Job) string {
	if job.GetRow() < 0 || len(job.GetPlaces()) == 0 {
		return "-"
	}
	return strconv.Itoa(int(job.GetRow()))
}

// whereWords describes where a job runs, or why it does not, or how it ended.
func whereWords(job *scorev1.Job) string {
	switch job.GetState() {
	case scorev1.JobState_JOB_STATE_QUEUED:
		return "waits for " + orDash(job.GetWaitingFor())
	case scorev1.JobState_JOB_STATE_DONE:
		return endWords(job.GetVerdict())
	default:
		return nodeNames(job)
	}
}

func nodeNames(job *scorev1.Job) string {
	names := make([]string, 0, len(job.GetPlaces()))
	for _, place := range job.GetPlaces() {
		names = append(names, place.GetNode())
	}
	return orDash(cmdline.FormatNodes(names))
}

func endWords(verdict *scorev1.Verdict) string {
	return fmt.Sprintf("%s, exit code %d", reasonWord(verdict.GetReason()), verdict.GetExitCode())
}

func jobExplainCommand(c *caller) *cobra.Command {
	var asJSON bool
	command := &cobra.Command{
		Use:               "explain JOB",
		Short:             "show why a job waits, or where it runs",
		ValidArgsFunction: c.completeJob(allJobs),
		Args:              needs(1, "one job"),
		RunE: c.withJob(func(command *cobra.Command, id uint64, daemon *client.Client) error {
			reply, err := daemon.Jobs.ExplainJob(command.Context(), connect.NewRequest(&scorev1.ExplainJobRequest{JobId: id}))
			if err != nil {
				return err
			}
			if asJSON {
				return printExplanationJSON(command.OutOrStdout(), id, reply.Msg)
			}
			for _, line := range reply.Msg.GetLines() {
				if _, err := fmt.Fprintln(command.OutOrStdout(), printable(line)); err != nil {
					return err
				}
			}
			return nil
		}),
	}
	AddJSON(command, &asJSON)
	return command
}

func printExplanationJSON(out io.Writer, id uint64, reply *scorev1.ExplainJobResponse) error {
	return printJSON(out, struct {
		ID            uint64   `json:"id"`
		Lines         []string `json:"lines"`
		Resource      string   `json:"resource"`
		JobsBefore    uint32   `json:"jobs_before"`
		EarliestNanos int64    `json:"earliest_start_nanos"`
	}{id, nonNil(reply.GetLines()), reply.GetResource(), reply.GetJobsBefore(), reply.GetEarliestStartNanos()})
}
