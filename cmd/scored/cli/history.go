package cli

import (
	"io"
	"iter"
	"score/cmd/cmdline"
	"score/scored/api/scorev1"
	"score/scored/client"
	"strconv"
	"time"

	"github.com/spf13/cobra"
)

func historyCommand(c *caller) *cobra.Command {
	var given listFlags
	command := &cobra.Command{
		Use:   "history",
		Short: "list finished jobs with what they used",
		Long: `Lists finished jobs that the cluster still remembers, the latest last: the time
from their start to their end (ELAPSED), the time that their gang was on (RUN
TIME), the CPU time of their ranks, the memory of their largest rank (- if they
ended before it was measured), and how they ended. Operators see the jobs of all
users, others their own.`,
		Example: `  scored history --since 24h -u ann
  scored history -s node-lost,time-limit -n 20`,
		Args: cmdline.NoArgs,
		RunE: c.with(func(command *cobra.Command, _ []string, daemon *client.Client) error {
			request, err := given.historyRequest(time.Now())
			if err != nil {
				return err
			}
			jobs := daemon.History(command.Context(), request)
			if given.asJSON {
				return printJobsJSON(command.OutOrStdout(), jobs)
			}
			return printHistory(command.OutOrStdout(), jobs)
		}),
	}
	given.add(c, command, "jobs that ended", "jobs that ended so", endReasons)
	return command
}

func printHistory(out io.Writer, jobs iter.Seq2[*scorev1.Job, error]) error {
	t := newTable(out, "ID", "NAME", "USER", "RANKS", "ENDED", "ELAPSED", "RUN TIME", "CPU TIME", "MEMORY", "END")
	for job, err := range jobs {
		if err != nil {
			return err
		}
		usage := job.GetUsage()
		elapsed := "-"
		if job.GetStartedNanos() != 0 {
			elapsed = shortTime(time.Duration(job.GetEndedNanos() - job.GetStartedNanos()))
		}
		t.row(strconv.FormatUint(job.GetId(), 10), job.GetSpec().GetName(), userName(job),
			strconv.Itoa(int(job.GetSpec().GetTasks())), instant(job.GetEndedNanos()), elapsed,
			shortTime(time.Duration(usage.GetRunNanos())), shortTime(time.Duration(usage.GetCpuNanos())),
			residentWords(usage), endWords(job.GetVerdict()))
	}
	return t.flush()
}
