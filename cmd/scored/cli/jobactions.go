package cli

import (
	"context"
	"errors"
	"fmt"
	"math"
	"score/cmd/cmdline"
	"score/scored/api/scorev1"
	"score/scored/api/scorev1/scorev1connect"
	"score/scored/client"
	"strings"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"
)

// runningJobs are the states of jobs that have ranks.
var runningJobs = []scorev1.JobState{scorev1.JobState_JOB_STATE_RUNNING}

// waitingJobs are the states of jobs that can be held.
var waitingJobs = []scorev1.JobState{scorev1.JobState_JOB_STATE_QUEUED}

// eachOf calls act for every job. It goes on after errors and returns them all, since a command to
// end five jobs must not stop at the first that has already ended.
func eachOf(ids []uint64, act func(id uint64) error) error {
	var failures []error
	for _, id := range ids {
		if err := act(id); err != nil {
			failures = append(failures, errors.New(client.Sentence(err)))
		}
	}
	return joinSentences(failures)
}

// maxSentences bounds a line about many jobs or nodes, so that it can be read.
const maxSentences = 8

// joinSentences joins several errors into one line: the first, and how many more there are.
func joinSentences(failures []error) error {
	if len(failures) == 0 {
		return nil
	}
	words := make([]string, 0, maxSentences+1)
	for i, failure := range failures {
		if i == maxSentences {
			words = append(words, fmt.Sprintf("and %d more", len(failures)-i))
			break
		}
		words = append(words, failure.Error())
	}
	return errors.New(strings.Join(words, "; "))
}

func jobCancelCommand(c *caller) *cobra.Command {
	var now bool
	// Otherwise the end of a running job could start a waiting job that is also to be ended.
	choice := jobChoice{latestFirst: true}
	command := &cobra.Command{
		Use:   "cancel [JOB...]",
		Short: "end jobs",
		Long: `Ends jobs that wait or run: the owner of a job and operators may do this. Ranks get
SIGTERM, so that a program can end by itself, and SIGKILL if that takes longer than the
setting kill_wait (30 seconds). With --now they are killed at once, also if they have got
SIGTERM before.

` + choiceHelp,
		Example: `  scored job cancel 7 8
  scored job cancel --now 9
  scored job cancel -s queued
  scored job cancel -u ann -J cfd`,
		Args: needsJobs(0, "name the jobs to end, or choose them by --user, --state or --job-name"),
	}
	command.Flags().BoolVar(&now, "now", false, "kill the ranks at once")
	return c.withChosen(command, &choice, nil, func(ctx context.Context, jobs scorev1connect.JobServiceClient, id uint64) error {
		_, err := jobs.CancelJob(ctx, connect.NewRequest(&scorev1.CancelJobRequest{JobId: id, AtOnce: now}))
		return err
	})
}

// withChosen completes a command that does something with each of the jobs that are named or
// chosen, of those in some states (nil: that have not ended).
func (c *caller) withChosen(
	command *cobra.Command, choice *jobChoice, states []scorev1.JobState,
	act func(ctx context.Context, jobs scorev1connect.JobServiceClient, id uint64) error,
) *cobra.Command {
	command.ValidArgsFunction = c.completeJobs(unfinishedJobs)
	command.RunE = c.with(func(command *cobra.Command, arguments []string, daemon *client.Client) error {
		return choice.act(command, arguments, daemon, states, func(id uint64) error {
			return act(command.Context(), daemon.Jobs, id)
		})
	})
	choice.add(c, command)
	return command
}

func jobRequeueCommand(c *caller) *cobra.Command {
	var reason string
	command := &cobra.Command{
		Use:   "requeue [JOB...]",
		Short: "end the ranks of jobs and run the jobs again",
		Long: `Ends the ranks of running jobs and puts the jobs back into the queue, with the same
number and the old place in the queue. The owner of a job and operators may do this,
also if the job was submitted without --requeue. SCORE_RESTART_COUNT tells the program
how often it was restarted. An attached scrun stays attached. 'scored job show' shows
how often a job was restarted, and why.

If a node of the job is lost meanwhile, a job without --requeue ends instead, since its
ranks there may still run.

` + choiceHelp + " Without\n--state, only those that run.",
		Example: `  scored job requeue 7 --reason "bad input"
  scored job requeue -u ann -J cfd`,
		Args: needsJobs(0, "name the jobs to requeue, or choose them by --user, --state or --job-name"),
	}
	command.Flags().StringVar(&reason, "reason", "", "`why`, for 'scored job show'")
	return c.withChosen(command, new(jobChoice), runningJobs, func(ctx context.Context, jobs scorev1connect.JobServiceClient, id uint64) error {
		_, err := jobs.RequeueJob(ctx, connect.NewRequest(&scorev1.RequeueJobRequest{JobId: id, Reason: reason}))
		return err
	})
}

func jobHoldCommand(c *caller) *cobra.Command {
	command := &cobra.Command{
		Use:   "hold [JOB...]",
		Short: "keep waiting jobs from their start until they are released",
		Long: `Keeps jobs that wait from their start until 'scored job release'. The owner of a job and
operators may do this. A job that somebody else than its owner holds can be released by
operators and administrators only. 'scrun --hold' submits a job that is held.

` + choiceHelp,
		Example: `  scored job hold 7 8
  scored job hold -J cfd`,
		Args: needsJobs(0, "name the jobs to hold, or choose them by --user, --state or --job-name"),
	}
	return c.withChosen(command, new(jobChoice), waitingJobs, func(ctx context.Context, jobs scorev1connect.JobServiceClient, id uint64) error {
		_, err := jobs.HoldJob(ctx, connect.NewRequest(&scorev1.HoldJobRequest{JobId: id}))
		return err
	})
}

func jobReleaseCommand(c *caller) *cobra.Command {
	command := &cobra.Command{
		Use:   "release [JOB...]",
		Short: "let held jobs start",
		Long: `Lets jobs start that 'scored job hold' or 'scrun --hold' keeps from it. They have the
place in the queue that they would have if they had not been held. The owner of a job
and operators may do this; if an operator held the job, only operators and
administrators may.

` + choiceHelp,
		Example: `  scored job release 7 8
  scored job release -J cfd`,
		Args: needsJobs(0, "name the jobs to release, or choose them by --user, --state or --job-name"),
	}
	return c.withChosen(command, new(jobChoice), waitingJobs, func(ctx context.Context, jobs scorev1connect.JobServiceClient, id uint64) error {
		_, err := jobs.ReleaseJob(ctx, connect.NewRequest(&scorev1.ReleaseJobRequest{JobId: id}))
		return err
	})
}

func jobSignalCommand(c *caller) *cobra.Command {
	var choice jobChoice
	command := &cobra.Command{
		Use:   "signal SIGNAL [JOB...]",
		Short: "send a signal to every rank of jobs",
		Long: `Sends a signal to every rank of jobs that run. SIGNAL is a name, with or without SIG, or
a number. The owner of a job and operators may do this.

` + choiceHelp,
		Example: `  scored job signal USR1 7
  scored job signal 15 7 8
  scored job signal USR1 -J cfd`,
		ValidArgsFunction: c.completeJobsFrom(1, math.MaxInt, unfinishedJobs),
		Args:              needsJobs(1, "name a signal and then the jobs, as in 'scored job signal USR1 7'"),
		RunE: c.with(func(command *cobra.Command, arguments []string, daemon *client.Client) error {
			number, err := cmdline.ParseSignal(arguments[0])
			if err != nil {
				return err
			}
			return choice.act(command, arguments[1:], daemon, runningJobs, func(id uint64) error {
				request := &scorev1.SignalJobRequest{JobId: id, Signal: number}
				_, err := daemon.Jobs.SignalJob(command.Context(), connect.NewRequest(request))
				return err
			})
		}),
	}
	choice.add(c, command)
	return command
}

func jobWaitCommand(c *caller) *cobra.Command {
	var choice jobChoice
	command := &cobra.Command{
		Use:   "wait [JOB...]",
		Short: "wait until jobs have ended; exit with the highest of their exit codes",
		Long: `Waits until all these jobs have ended, and exits with the highest of their exit codes,
or with 125 if one is not known or the cluster failed. Prints why a job ended if its ranks
did not just exit.

` + choiceHelp,
		Example: `  scored job wait $(scrun -d -n 4 ./a.out) && ./next-step
  scored job wait -J cfd`,
		ValidArgsFunction: c.completeJobs(allJobs),
		Args:              needsJobs(0, "name the jobs to wait for, or choose them by --user, --state or --job-name"),
		RunE: func(command *cobra.Command, arguments []string) error {
			highest := 0
			err := c.with(func(command *cobra.Command, arguments []string, daemon *client.Client) error {
				return choice.act(command, arguments, daemon, nil, func(id uint64) error {
					reply, err := daemon.Jobs.WaitJob(command.Context(), connect.NewRequest(&scorev1.WaitJobRequest{JobId: id}))
					if err != nil {
						return err
					}
					verdict := reply.Msg.GetJob().GetVerdict()
					if verdict.GetMessage() != "" { // nobody may have seen it: the job may be detached
						fmt.Fprintf(command.ErrOrStderr(), "scored: job %d: %s\n", id, printable(verdict.GetMessage()))
					}
					highest = max(highest, int(verdict.GetExitCode()))
					return nil
				})
			})(command, arguments)
			return ended(highest, err)
		},
	}
	choice.add(c, command)
	return command
}

// ended returns the error of a command whose exit code is a job's.
func ended(code int, err error) error {
	switch {
	case err != nil:
		return &ExitError{Code: exitCluster, Err: err}
	case code != 0:
		return &ExitError{Code: code}
	default:
		return nil
	}
}
