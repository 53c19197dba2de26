package cli

import (
	"errors"
	"io"
	"strconv"
	"time"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	"score/scored/api/scorev1"
	"score/scored/client"
)

func historyCommand(c *caller) *cobra.Command {
	var request scorev1.GetHistoryRequest
	var since string
	var asJSON bool
	command := &cobra.Command{
		Use:   "history",
		Short: "list finished jobs with what they used",
		Long: `Lists the jobs that have ended, as far as they are kept, the latest last: how
long they took from their start to their end (ELAPSED), how long their gang was on
(RUN TIME), the CPU time of their ranks, the memory of their largest rank, and how
they ended. Operators see everybody's jobs, others their own.`,
		Args: cobra.NoArgs,
		RunE: c.with(func(command *cobra.Command, _ []string, daemon *client.Client) (err error) {
			if request.SinceNanos, err = sinceNanos(since, time.Now()); err != nil {
				return err
			}
			reply, err := daemon.Jobs.GetHistory(command.Context(), connect.NewRequest(&request))
			if err != nil {
				return err
			}
			if asJSON {
				return printJobsJSON(command.OutOrStdout(), reply.Msg.GetJobs())
			}
			return printHistory(command.OutOrStdout(), reply.Msg.GetJobs())
		}),
	}
	command.Flags().StringVarP(&request.User, "user", "u", "", "jobs of this `user` only")
	command.Flags().StringVar(&since, "since", "", "jobs that ended at this `time` or later: a time ago (90m, 24h), a day (2006-01-02), or 2006-01-02T15:04:05")
	command.Flags().Uint32VarP(&request.Limit, "limit", "n", 0, "the latest `number` of them only")
	addJSON(command, &asJSON)
	return command
}

// sinceNanos reads a time ago, a day or an instant of local time.
func sinceNanos(text string, now time.Time) (int64, error) {
	if text == "" {
		return 0, nil
	}
	if ago, err := time.ParseDuration(text); err == nil && ago >= 0 {
		return now.Add(-ago).UnixNano(), nil
	}
	for _, layout := range []string{time.DateOnly, time.DateTime, "2006-01-02T15:04:05"} {
		if at, err := time.ParseInLocation(layout, text, time.Local); err == nil {
			return at.UnixNano(), nil
		}
	}
	return 0, errors.New("--since " + strconv.Quote(text) + ": write a time ago as in 90m, a day as in 2026-01-31, or 2026-01-31T12:00:00")
}

func printHistory(out io.Writer, jobs []*scorev1.Job) error {
	t := newTable(out, "ID", "NAME", "USER", "RANKS", "ENDED", "ELAPSED", "RUN TIME", "CPU TIME", "MEMORY", "END")
	for _, job := range jobs {
		usage := job.GetUsage()
		elapsed := "-"
		if job.GetStartedNanos() != 0 {
			elapsed = shortTime(time.Duration(job.GetEndedNanos() - job.GetStartedNanos()))
		}
		t.row(strconv.FormatUint(job.GetId(), 10), printable(job.GetSpec().GetName()), userName(job),
			strconv.Itoa(int(job.GetSpec().GetTasks())), instant(job.GetEndedNanos()), elapsed,
			shortTime(time.Duration(usage.GetRunNanos())), shortTime(time.Duration(usage.GetCpuNanos())),
			shortBytes(usage.GetMaxRssBytes()), endWords(job.GetVerdict()))
	}
	return t.flush()
}
