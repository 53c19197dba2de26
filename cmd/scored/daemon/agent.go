package daemon

import (
	"context"
	"fmt"
	"score/cmd/cmdline"
	"score/cmd/scored/config"
	"score/cmd/scored/parentwatch"
	"score/cmd/scored/service"
	"score/nodeagent"
	"score/scored/api"
	"score/scored/api/agentpb"

	"github.com/spf13/cobra"
	"go.uber.org/zap"
)

const agentLong = `Runs the agent of this node until it is stopped. ^C also ends the jobs of the node.
SIGTERM does not: the jobs continue for agent.grace, and the next agent of the node
takes them over, as it does after a crash or an upgrade. No output, message or exit
code is lost. SIGHUP makes the agent read its configuration again; log.level changes at
once. Without a certificate the agent needs the key file.

An agent of root runs jobs of all users. An agent of another user runs only that user's.

If its node was removed from the cluster, or its certificate was revoked, the agent ends
the jobs of the node and exits with code 78. It exits so, too, if the files of its
certificate are damaged. Restarting it does not help.

In a cluster with certificates the agent serves the users of its host if no server runs
there: it accepts calls of scrun and scored at agent.socket and forwards them to a
server, or to another one when that is lost. It tells the server the user's number, as
the kernel reports it. Calls through an agent have no privileges: commands for operators
and administrators are refused, and jobs of root run on this host only.`

// agentFlags are the command line of an agent.
type agentFlags struct {
	path, name, listen, token string
	tied                      bool
}

func agentCommand() *cobra.Command {
	var f agentFlags
	command := &cobra.Command{
		Use:   "agent",
		Short: "run the agent of a node, which starts and switches jobs",
		Long:  agentLong,
		Args:  cmdline.NoArgs,
		RunE:  func(command *cobra.Command, _ []string) error { return f.run(command) },
	}
	addConfig(command, &f.path)
	flags := command.Flags()
	flags.StringVar(&f.name, "name", "", "the node's `name` (default: agent.name in the file, else the host's)")
	flags.StringVar(&f.listen, "listen", "", "`address` of the agent, host:port (default: agent.listen in the file)")
	flags.BoolVar(&f.tied, "tied", false, "end with the parent process")
	addJoin(command, &f.token, "node")
	_ = flags.MarkHidden("tied") // it was defined just now
	return command
}

func (f *agentFlags) run(command *cobra.Command) error {
	settings, err := joiningConfig(f.path, f.token)
	if err != nil {
		return err
	}
	if f.name != "" {
		settings.Agent.Name = f.name
	}
	if f.listen != "" {
		settings.Agent.Listen = f.listen
	}
	if f.token != "" {
		if settings, err = joined(command, settings, joining{text: f.token, config: f.path, role: agentRole}); err != nil {
			return err
		}
	}
	if f.tied {
		return serveTied(command.Context(), settings)
	}
	life := service.Begin(command.Context(), nodeagent.ErrLeave)
	defer life.End()
	return coded(serveAgent(life, f.path, settings))
}

// serveTied runs an agent that ends with its parent process.
func serveTied(ctx context.Context, c config.Config) error {
	ctx, stop := untilStopped(ctx)
	defer stop()
	return withLine(ctx, func(ctx context.Context, line *parentwatch.Line) error {
		logger, _, err := newLogger(c.Log.Level)
		if err != nil {
			return err
		}
		defer func() { _ = logger.Sync() }() // a terminal cannot be synced
		return runAgent(ctx, c, logger, func(*nodeagent.Agent) { line.Ready("") })
	})
}

// serveAgent runs an agent as a service.
func serveAgent(life *service.Life, path string, c config.Config) error {
	logger, level, err := newLogger(c.Log.Level)
	if err != nil {
		return err
	}
	defer func() { _ = logger.Sync() }() // a terminal cannot be synced
	ctx := life.Context()
	return runAgent(ctx, c, logger, func(agent *nodeagent.Agent) {
		again := newReloader(path, "agent", c, level, logger)
		again.status = fmt.Sprintf("node %s of cluster %s at %s", agent.Name(), c.Cluster.Name, agent.Address())
		life.Go(func() { service.Watch(ctx, logger, agent.Alive) })
		life.Go(func() { again.run(ctx, life.Reloads()) })
		service.Ready(again.status)
	})
}

// runAgent runs an agent until ctx ends. It calls ready once the agent serves.
func runAgent(ctx context.Context, c config.Config, logger *zap.Logger, ready func(*nodeagent.Agent)) error {
	options, err := agentOptions(ctx, c, logger)
	if err != nil {
		return err
	}
	stop, err := failpoints(options.Name, logger)
	if err != nil {
		return err
	}
	defer stop()
	var agent *nodeagent.Agent
	options.Serving = func() { ready(agent) }
	if agent, err = nodeagent.New(options); err != nil {
		return err
	}
	api.Warm(agentpb.File_score_v1_agent_proto)
	return agent.Run(ctx)
}
