package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"score/cmd/manpage"
	"score/cmd/scored/service"
	"score/scored/client"

	"github.com/spf13/cobra"
)

const (
	// exitFailure is the exit code of a command that failed.
	exitFailure = 1

	// exitCluster is the exit code of scored's own failure if the exit code is otherwise a job's,
	// as in scrun.
	exitCluster = 125
)

// ExitError ends the program with a certain exit code.
type ExitError struct {
	Code int
	// Err is printed, unless nil.
	Err error
}

// Error implements error.
func (e *ExitError) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("exit code %d", e.Code)
	}
	return e.Err.Error()
}

// Unwrap returns the cause.
func (e *ExitError) Unwrap() error { return e.Err }

// Root returns the command scored with the commands of this package.
func Root() *cobra.Command {
	c := &caller{}
	root := &cobra.Command{
		Use:   "scored",
		Short: "run and control a cluster: its daemons, jobs and nodes",
		Long: `scored runs the daemons of a cluster whose nodes are shared in space and in time,
and shows and controls its jobs and nodes. Use scrun to run programs.

'scored completion --help' explains how a shell completes its commands.`,
		Args:          NoCommand,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE:          func(command *cobra.Command, _ []string) error { return command.Help() },

		DisableFlagsInUseLine: true,
	}
	root.SetFlagErrorFunc(flagError)
	root.SetHelpFunc(func(command *cobra.Command, _ []string) { fmt.Fprint(command.OutOrStdout(), manpage.Help(command)) })
	root.PersistentFlags().StringVar(&c.socket, "cluster", "", "the cluster's `socket` (default: $SCORE_SOCKET, else this host's, else that of scored dev)")
	root.PersistentFlags().BoolP("help", "h", false, "print this help")
	root.AddGroup(
		&cobra.Group{ID: groupUse, Title: "Jobs and nodes:"},
		&cobra.Group{ID: GroupRun, Title: "Daemons:"},
	)
	for _, command := range []*cobra.Command{
		jobCommand(c), nodeCommand(c), channelCommand(c), stageCommand(c), matrixCommand(c), topCommand(c),
		metricsCommand(c), userCommand(c), historyCommand(c), configCommand(c), tokenCommand(c), certCommand(c), snapshotCommand(c), versionCommand(c),
	} {
		command.GroupID = groupUse
		root.AddCommand(command)
	}
	return root
}

// Groups of commands in the help text.
const (
	groupUse = "use"
	GroupRun = "run"
)

// Execute runs the command line and returns the exit code.
func Execute(root *cobra.Command, arguments []string) int {
	root.SetArgs(arguments)
	err := root.Execute()
	if err == nil {
		return 0
	}
	exit, ok := errors.AsType[*ExitError](err)
	if !ok {
		exit = &ExitError{Code: exitFailure, Err: err}
	}
	if exit.Err != nil {
		fmt.Fprintln(root.ErrOrStderr(), service.ErrorPrefix()+"scored: "+client.Sentence(exit.Err))
	}
	return exit.Code
}

// caller connects to the cluster that the flags and the environment name.
type caller struct {
	socket string
}

// dial connects to the daemon, and waits if the daemon restarts.
func (c *caller) dial(command *cobra.Command) (*client.Client, error) {
	return c.dialIn(client.WithNotice(command.Context(), func(err error) {
		fmt.Fprintln(command.ErrOrStderr(), "scored: "+client.Sentence(err)+"; scored waits")
	}), command)
}

// dialIn connects to the daemon, and waits for it as ctx allows.
func (c *caller) dialIn(ctx context.Context, command *cobra.Command) (*client.Client, error) {
	socket := c.socket
	if flag := command.Flag("cluster"); flag != nil {
		socket = flag.Value.String() // also for commands below those of other packages
	}
	return client.Dial(ctx, client.ChoiceFrom(socket, os.Getenv))
}

// with returns a command's function that runs call with a connection.
func (c *caller) with(call func(command *cobra.Command, arguments []string, daemon *client.Client) error) func(*cobra.Command, []string) error {
	return func(command *cobra.Command, arguments []string) error {
		daemon, err := c.dial(command)
		if err != nil {
			return err
		}
		defer daemon.Close()
		return call(command, arguments, daemon)
	}
}

// withJob is like with, for a command with a job as its first argument.
func (c *caller) withJob(call func(command *cobra.Command, id uint64, daemon *client.Client) error) func(*cobra.Command, []string) error {
	return c.with(func(command *cobra.Command, arguments []string, daemon *client.Client) error {
		id, err := parseJob(arguments[0])
		if err != nil {
			return err
		}
		return call(command, id, daemon)
	})
}

// parent returns a command that only holds others.
func parent(use, short string, commands ...*cobra.Command) *cobra.Command {
	command := &cobra.Command{
		Use:   use,
		Short: short,
		Args:  NoCommand,
		RunE:  func(command *cobra.Command, _ []string) error { return command.Help() },

		DisableFlagsInUseLine: true,
	}
	command.AddCommand(commands...)
	return command
}
