package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"score/channels/link"
	"score/cmd/cmdline"
	"score/cmd/scored/config"
	"score/cmd/scored/embedded"
	"score/cmd/scored/parentwatch"
	"score/cmd/scored/rundir"
	"score/nodeagent"
	"score/nodeagent/realtime"
	"score/scored/client"
	"score/scored/server"
	"time"

	"github.com/spf13/cobra"
	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"
)

const (
	// devTimeout bounds the start of all nodes.
	devTimeout = 30 * time.Second
	// devPoll is the interval at which the server is asked which nodes have joined.
	devPoll = 5 * time.Millisecond
	// devGrace is how long the jobs of a lost agent continue. It is longer than the server waits
	// for the agent: an agent that comes later finds that its jobs were given up.
	devGrace = "15s"
	// devPause is the time before an agent that ended right after a restart is restarted again. It
	// doubles each time up to maxDevPause, which is far below the server's patience.
	devPause    = 50 * time.Millisecond
	maxDevPause = 800 * time.Millisecond
)

type devOptions struct {
	nodes    int
	channels int
	link     string
	socket   string
	logLevel string
	out      io.Writer
}

func devCommand() *cobra.Command {
	var o devOptions
	command := &cobra.Command{
		Use:   "dev",
		Short: "run a whole cluster on this machine, for tests",
		Long: `Runs a server and the agents of several nodes on this machine until ^C. Then it ends
all jobs and leaves nothing behind. The nodes divide the machine's CPUs and memory; if
there are more nodes than CPUs they share them. An agent that ends early, as by
kill -9, is restarted, and its jobs continue.`,
		Example: `  scored dev --nodes 4`,
		Args:    cmdline.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			if o.nodes < 1 || o.nodes > maxDevNodes {
				return fmt.Errorf("--nodes %d: it must be between 1 and %d", o.nodes, maxDevNodes)
			}
			given := command.Flags().Changed("channels")
			if given && (o.channels < 1 || o.channels > nodeagent.MaxChannels) {
				return fmt.Errorf("--channels %d: it must be between 1 and %d", o.channels, nodeagent.MaxChannels)
			}
			if _, err := link.ParseTransport(o.link); err != nil {
				return fmt.Errorf("--link: %w", err)
			}
			o.out = command.OutOrStdout()
			ctx, stop := untilStopped(command.Context())
			defer stop()
			return runDev(ctx, o)
		},
	}
	command.Flags().IntVarP(&o.nodes, "nodes", "N", 1, "how `many` nodes")
	command.Flags().IntVar(
		&o.channels,
		"channels",
		0,
		fmt.Sprintf("how `many` channels each node has for the jobs that run together (default: as many as CPUs, and %d at least)", nodeagent.DefaultChannels),
	)
	command.Flags().StringVar(&o.link, "link", link.UDP.String(), "`transport` of PM programs' messages between nodes: udp or tipc")
	command.Flags().StringVar(&o.socket, "socket", "", "`path` of the socket for users (default: where your scrun finds it by itself)")
	command.Flags().StringVar(&o.logLevel, "log-level", "warn", "`level` of the log: debug, info, warn or error")
	return command
}

// devCluster is a running development cluster.
type devCluster struct {
	devOptions
	dir    *rundir.Dir
	config config.Config // of the server, and of the agents except for their parts of the machine
	stage  string        // directory for staged files and the jobs' directories
	plan   []devNode
	agents []*parentwatch.Child
}

func runDev(ctx context.Context, o devOptions) (err error) {
	defer func() { err = client.NoRoom(err) }()
	_ = realtime.CalmMonitor(realtime.MonitorSlack) // an ordinary user has no right to it, and no need
	realtime.CalmCollector()
	cpus, memory, err := machine()
	if err != nil {
		return err
	}
	parent, err := client.MakeUserDir()
	if err != nil {
		return err
	}
	dir, err := rundir.Make(parent, "dev", func(name string) { sweepDev(parent, name) })
	if err != nil {
		return err
	}
	defer func() {
		sweepDev(parent, dir.Name()) // what killed agents have left
		err = errors.Join(err, dir.Close())
	}()
	root := os.Geteuid() == 0
	stage, err := openDevStage(dir, root)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeDevStage(stage, root)) }()
	c := &devCluster{devOptions: o, dir: dir, stage: stage.Path(), plan: divide(o.nodes, cpus, memory)}
	if err := c.configure(); err != nil {
		return err
	}
	return c.run(ctx)
}

// sweepDev removes the control groups and job files of a development cluster whose agents are gone.
// Some of them may have been killed.
func sweepDev(parent, name string) {
	agents := agentsDir(filepath.Join(parent, name))
	nodes, err := os.ReadDir(agents)
	if err != nil {
		return // it ended before it started an agent
	}
	for _, node := range nodes {
		embedded.Sweep(name, node.Name(), filepath.Join(agents, node.Name()))
	}
}

func (c *devCluster) configure() error {
	if c.socket == "" {
		socket, err := client.DevSocket()
		if err != nil {
			return err
		}
		c.socket = socket
	}
	socket, err := filepath.Abs(c.socket)
	if err != nil {
		return err
	}
	c.config = config.Default()
	c.config.Cluster = config.Cluster{Name: c.dir.Name(), KeyFile: filepath.Join(c.dir.Path(), "key")}
	c.config.Server.DataDir = filepath.Join(c.dir.Path(), "data")
	c.config.Server.Socket = socket
	c.config.Server.AgentsListen = "127.0.0.1:0"
	c.config.Agent.Listen = "127.0.0.1:0"
	c.config.Agent.RunDir = agentsDir(c.dir.Path())
	c.config.Agent.StageDir = c.stage
	c.config.Agent.Channels = c.channels
	if c.link != "" {
		c.config.Agent.Link = c.link
	}
	c.config.Agent.Grace = devGrace
	c.config.Log.Level = c.logLevel
	return nil
}

// run starts the server, then the agents, and stops them in the reverse order.
func (c *devCluster) run(ctx context.Context) error {
	logger, _, err := newLogger(c.logLevel)
	if err != nil {
		return err
	}
	disarm, err := failpoints(serverFailpoints, logger)
	if err != nil {
		return err
	}
	defer disarm()
	control, err := c.newServer(logger)
	if err != nil {
		return err
	}
	serverCtx, stopServer := context.WithCancel(context.WithoutCancel(ctx))
	defer stopServer()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var servers errgroup.Group
	servers.Go(func() error {
		defer stop()
		return control.Run(serverCtx)
	})
	err = c.runNodes(ctx, control)
	c.stopAgents()
	stopServer()
	return errors.Join(err, servers.Wait())
}

func (c *devCluster) newServer(logger *zap.Logger) (*server.Server, error) {
	options, err := serverOptions(c.config, logger)
	if err != nil {
		return nil, err
	}
	options.ShareCPUs = true // as in the cluster of a lone scrun
	options.StartNodes = c.nodes
	return server.New(options)
}

// printUse prints what runs and how to use it.
func (c *devCluster) printUse() {
	fmt.Fprintln(c.out, describePlan(c.plan))
	fmt.Fprintln(c.out, "In another terminal:")
	if usual, err := client.DevSocket(); err != nil || usual != c.config.Server.Socket {
		fmt.Fprintf(c.out, "  export %s=%s\n", client.SocketVariable, c.config.Server.Socket)
	}
	fmt.Fprintf(c.out, "  scrun -N %d -n %d hostname\n  scored job list\n^C ends the cluster and everything it runs.\n",
		len(c.plan), 2*len(c.plan))
}
