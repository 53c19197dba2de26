package daemon

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"score/cmd/cmdline"
	"score/cmd/scored/cli"
	"score/cmd/scored/config"
	"score/cmd/scored/embedded"
	"score/cmd/scored/parentwatch"
	"score/nodeagent/steward/client"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"
)

// configVariable is the environment variable with the configuration file, for commands without the
// flag.
const configVariable = "SCORE_CONFIG"

// Commands returns the daemons' commands.
func Commands() []*cobra.Command {
	daemons := []*cobra.Command{serverCommand(), agentCommand(), devCommand()}
	commands := append([]*cobra.Command{initCommand(), joinCommand()}, daemons...)
	for _, command := range commands {
		command.GroupID = cli.GroupRun
		if command.Flags().Lookup("config") != nil {
			command.RunE = advised(command.RunE, os.Geteuid())
		}
	}
	embedded := embeddedCommand()
	for _, command := range append(daemons, embedded) {
		command.PreRun = outliveReaders
	}
	return append(commands, embedded)
}

// advised wraps run: where an ordinary user may not write to the directories of a configuration,
// the error says what to do.
func advised(run func(*cobra.Command, []string) error, euid int) func(*cobra.Command, []string) error {
	return func(command *cobra.Command, arguments []string) error {
		err := run(command, arguments)
		if euid == 0 || !errors.Is(err, fs.ErrPermission) {
			return err
		}
		return fmt.Errorf("%w; be root, or choose places of your own with --config; 'scored dev' needs neither", err)
	}
}

// addConfig adds the flag for the configuration file.
func addConfig(command *cobra.Command, path *string) {
	command.Flags().StringVar(path, "config", "", "configuration `file` (default: $"+configVariable+", else "+config.DefaultPath+" where it exists)")
}

func loadConfig(path string) (config.Config, error) { return config.Load(namedConfig(path)) }

// namedConfig returns the file that the flag or the environment names, or "".
func namedConfig(flag string) string {
	if flag == "" {
		return os.Getenv(configVariable)
	}
	return flag
}

// untilStopped returns a context that ends with ^C, SIGTERM or SIGHUP.
func untilStopped(parent context.Context) (context.Context, context.CancelFunc) {
	return signal.NotifyContext(parent, unix.SIGINT, unix.SIGTERM, unix.SIGHUP)
}

// withLine runs a child of another scored or of scrun until its parent ends it.
func withLine(ctx context.Context, run func(ctx context.Context, line *parentwatch.Line) error) error {
	line, err := parentwatch.Inherited()
	if err != nil {
		return errors.New("this command is for scored's and scrun's own use")
	}
	defer line.Close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		<-line.Gone()
		cancel()
	}()
	if err := run(ctx, line); err != nil {
		line.Failed(err.Error())
		return &cli.ExitError{Code: 1} // the parent prints the reason
	}
	return nil
}

func embeddedCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "embedded",
		Short:  "the cluster of one scrun (for scrun's own use)",
		Hidden: true,
		Args:   cmdline.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			// Signals of the terminal are scrun's business; it forwards what this process needs.
			return withLine(command.Context(), func(ctx context.Context, line *parentwatch.Line) error {
				return embedded.Run(ctx, embedded.Options{Steward: client.Self, Ready: line.Ready})
			})
		},
	}
}

// hostName returns the host's name without its domain.
func hostName() (string, error) {
	host, err := os.Hostname()
	if err != nil {
		return "", fmt.Errorf("the host has no name (%w): set agent.name", err)
	}
	name, _, _ := strings.Cut(host, ".")
	return name, nil
}
