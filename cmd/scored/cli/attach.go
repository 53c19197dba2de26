package cli

import (
	"context"
	"errors"
	"score/cmd/display"
	"score/scored/api/scorev1"
	"score/scored/client"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"
)

func jobAttachCommand(c *caller) *cobra.Command {
	var label bool
	command := &cobra.Command{
		Use:               "attach JOB",
		Short:             "show the output of a job from now on, until it ends",
		ValidArgsFunction: c.completeJob(unfinishedJobs),
		Long: `Shows the output of a job from now on until the job ends, and exits with the job's exit
code. ^C detaches; the job continues.`,
		Args: needs(1, "one job"),
		RunE: func(command *cobra.Command, arguments []string) error {
			var verdict *scorev1.Verdict
			err := c.with(func(command *cobra.Command, arguments []string, daemon *client.Client) error {
				id, err := parseJob(arguments[0])
				if err != nil {
					return err
				}
				verdict, err = follow(command, daemon, id, label)
				return err
			})(command, arguments)
			if err == nil && verdict.GetMessage() != "" {
				err := errors.New(verdict.GetMessage())
				return &ExitError{Code: int(verdict.GetExitCode()), Err: err}
			}
			return ended(int(verdict.GetExitCode()), err)
		},
	}
	command.Flags().BoolVarP(&label, "label", "l", false, "put the rank before every line")
	return command
}

// follow shows a job's output and returns how it ended.
func follow(command *cobra.Command, daemon *client.Client, id uint64, label bool) (verdict *scorev1.Verdict, err error) {
	ctx, cancel := context.WithCancel(command.Context())
	defer cancel()
	reply, err := daemon.Jobs.GetJob(ctx, connect.NewRequest(&scorev1.GetJobRequest{JobId: id}))
	if err != nil {
		return nil, err
	}
	shown, err := display.New(display.Config{
		Tasks: reply.Msg.GetJob().GetSpec().GetTasks(), Label: label,
		Stdout: command.OutOrStdout(), Stderr: command.ErrOrStderr(),
	})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, shown.Close()) }()
	stream := daemon.Jobs.Attach(ctx)
	open := &scorev1.AttachRequest_Open{JobId: id}
	if err := stream.Send(&scorev1.AttachRequest{Request: &scorev1.AttachRequest_Open_{Open: open}}); err != nil {
		_, err = stream.Receive() // it knows the daemon's reason
		return nil, err
	}
	for {
		event, err := stream.Receive()
		if err != nil {
			return nil, err
		}
		if end := event.GetEnded(); end != nil {
			return end, nil
		}
		if output := event.GetOutput(); output != nil {
			if err := shown.Show(output); err != nil {
				return nil, err
			}
		}
	}
}
