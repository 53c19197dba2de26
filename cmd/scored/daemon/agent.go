package daemon

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"score/channels/link"
	"score/cmd/cmdline"
	"score/cmd/scored/config"
	"score/cmd/scored/parentwatch"
	"score/cmd/scored/service"
	"score/nodeagent"
	"score/nodeagent/steward/client"
	"score/scored/api"
	"score/scored/api/identity/pki"
	"time"

	"github.com/spf13/cobra"
	"go.uber.org/zap"
)

func agentCommand() *cobra.Command {
	var path, name, listen, token string
	var tied bool
	command := &cobra.Command{
		Use:   "agent",
		Short: "run the agent of a node, which starts and switches jobs",
		Long: `Runs the agent of this node until it is stopped. ^C also ends the jobs of the node.
SIGTERM does not: the jobs continue for agent.grace, and the next agent of the node
takes them over, as it does after a crash or an upgrade. No output, message or exit
code is lost. SIGHUP makes the agent read its configuration again; log.level changes at
once. Without a certificate the agent needs the key file.

An agent of root runs jobs of all users. An agent of another user runs only that user's.

If its node was removed from the cluster, or its certificate was revoked, the agent ends
the jobs of the node and exits with code 78. Restarting it does not help.

In a cluster with certificates the agent serves the users of its host if no server runs
there: it accepts calls of scrun and scored at agent.socket and forwards them to a
server, or to another one when that is lost. It tells the server the user's number, as
the kernel reports it. Calls through an agent have no privileges: commands for operators
and administrators are refused, and jobs of root run on this host only.`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			settings, err := joiningConfig(path, token)
			if err != nil {
				return err
			}
			if name != "" {
				settings.Agent.Name = name
			}
			if listen != "" {
				settings.Agent.Listen = listen
			}
			if token != "" {
				if settings, err = joined(command, settings, joining{text: token, config: path, role: agentRole}); err != nil {
					return err
				}
			}
			if !tied {
				life := service.Begin(command.Context(), nodeagent.ErrLeave)
				defer life.End()
				return coded(serveAgent(life, path, settings))
			}
			ctx, stop := untilStopped(command.Context())
			defer stop()
			return withLine(ctx, func(ctx context.Context, line *parentwatch.Line) error {
				logger, _, err := newLogger(settings.Log.Level)
				if err != nil {
					return err
				}
				defer func() { _ = logger.Sync() }() // a terminal cannot be synced
				return runAgent(ctx, settings, logger, func(*nodeagent.Agent) { line.Ready("") })
			})
		},
	}
	addConfig(command, &path)
	command.Flags().StringVar(&name, "name", "", "the node's `name` (default: agent.name in the file, else the host's)")
	command.Flags().StringVar(&listen, "listen", "", "`address` of the agent, host:port (default: agent.listen in the file)")
	command.Flags().BoolVar(&tied, "tied", false, "end with the parent process")
	command.Flags().StringVar(
		&token,
		"join",
		"",
		"join the cluster with this `token` first, unless this node has joined; - reads it from standard input, where other users do not see it",
	)
	_ = command.Flags().MarkHidden("tied") // it was defined just now
	return command
}

// joined joins the cluster and returns the configuration after that. ^C ends it.
func joined(command *cobra.Command, c config.Config, j joining) (config.Config, error) {
	ctx, stop := untilStopped(command.Context())
	defer stop()
	return j.join(ctx, c, command.InOrStdin(), command.ErrOrStderr())
}

// joiningConfig reads the configuration. A host that is about to join may have none yet.
func joiningConfig(path, token string) (config.Config, error) {
	c, err := loadConfig(path)
	if token != "" && errors.Is(err, fs.ErrNotExist) {
		return config.Default(), nil
	}
	return c, err
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
	api.Warm()
	return agent.Run(ctx)
}

func agentOptions(ctx context.Context, c config.Config, logger *zap.Logger) (nodeagent.Options, error) {
	a := c.Agent
	key, err := agentKey(c.Cluster)
	if err != nil {
		return nodeagent.Options{}, err
	}
	name, err := agentName(c)
	if err != nil {
		return nodeagent.Options{}, err
	}
	own, certificates, err := credentials(c.Cluster, pki.Agent, name)
	if err != nil {
		return nodeagent.Options{}, err
	}
	grace, err := time.ParseDuration(a.Grace)
	if err != nil {
		return nodeagent.Options{}, err
	}
	var memory uint64
	if a.Memory != "" {
		if memory, err = cmdline.ParseBytes(a.Memory); err != nil {
			return nodeagent.Options{}, err
		}
	}
	transport, err := link.ParseTransport(a.Link)
	if err != nil {
		return nodeagent.Options{}, err
	}
	limit, err := cmdline.ParseBytes(a.StageLimit)
	if err != nil {
		return nodeagent.Options{}, err
	}
	stage := ""
	if a.StageDir != "" {
		stage = filepath.Join(a.StageDir, name)
	}
	// The agent makes its own directory there.
	if err := os.MkdirAll(a.RunDir, 0o755); err != nil {
		return nodeagent.Options{}, fmt.Errorf("cannot make run_dir: %w", err)
	}
	return nodeagent.Options{
		Name:           name,
		Cluster:        c.Cluster.Name,
		Version:        api.Version(),
		RunDir:         filepath.Join(a.RunDir, name),
		Servers:        serverURLs(a.Servers),
		ClusterKey:     key,
		Credentials:    own,
		CertificateDir: certificates,
		Listen:         addressed(ctx, a.Listen),
		UserSocket:     a.UserSocket(),
		CPUs:           a.CPUs,
		MemoryBytes:    memory,
		Channels:       a.Channels,
		Link:           transport,
		TIPCType:       a.TIPCType,
		SharesCPUs:     a.SharesCPUs,
		KeepToCPUs:     a.KeepToCPUs,
		StewardExe:     client.Self,
		StageDir:       stage,
		JobsDir:        jobsDir(a, name),
		StageLimit:     int64(min(limit, math.MaxInt64)),
		WarmStewards:   a.WarmStewards,
		Grace:          grace,
		NoCgroups:      a.Cgroups == config.CgroupsOff,
		EnableRealtime: a.Realtime,
		MetricsAddress: a.MetricsListen,
		Logger:         logger,
	}, nil
}

// jobsMark separates a node's name, which has no dot, from a hash.
const jobsMark = ".jobs-"

// jobsDir returns the directory below which the jobs of a node have theirs. For agents of root it
// is beside the files of stage_dir, on a disk: run_dir is usually in memory that belongs to the
// system, and users could fill it. The hash tells agents apart that share a stage_dir: each has a
// run directory of its own. "" means beside the run directory, where users of an agent that is not
// root's fill only their own space.
func jobsDir(a config.Agent, name string) string {
	if os.Geteuid() != 0 || a.StageDir == "" {
		return ""
	}
	const hashBytes = 6 // enough to tell the agents of a machine apart
	sum := sha256.Sum256([]byte(filepath.Join(a.RunDir, name)))
	return filepath.Join(a.StageDir, name+jobsMark+hex.EncodeToString(sum[:hashBytes]))
}

// agentKey returns the cluster's key. An agent with a certificate may have none.
func agentKey(c config.Cluster) (string, error) {
	if _, err := os.Lstat(c.KeyFile); c.Certificates != "" && errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return loadKey(c.KeyFile)
}

func serverURLs(addresses []string) []string {
	urls := make([]string, 0, len(addresses))
	for _, address := range addresses {
		urls = append(urls, "https://"+address)
	}
	return urls
}
