package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"score/cmd/scored/config"
	"score/cmd/scored/embedded"
	"score/cmd/scored/lifeline"
	"score/cmd/scored/rundir"
	"score/nodeagent"
	"score/scored/api"
	"score/scored/client"
	"score/scored/server"
)

const (
	// devTimeout bounds the start of all nodes.
	devTimeout = 30 * time.Second
	// devPoll is how often the server is asked which nodes have joined.
	devPoll = 5 * time.Millisecond
	// devGrace is how long the jobs of a lost agent go on: longer than the server waits for
	// the agent, since one that comes later finds its jobs given up.
	devGrace = "15s"
	// devPause is the time before an agent that was started again and has ended is started once
	// more, doubled with each up to devPauseMost: far below what the server waits for it.
	devPause     = 50 * time.Millisecond
	devPauseMost = 800 * time.Millisecond
)

type devOptions struct {
	nodes    int
	channels int
	socket   string
	logLevel string
	out      io.Writer
}

func devCommand() *cobra.Command {
	var o devOptions
	command := &cobra.Command{
		Use:   "dev",
		Short: "run a whole cluster on this machine, for trying and testing",
		Long: `Runs a server and the agents of as many nodes as wanted on this machine, until
^C; then it ends all jobs and leaves nothing behind. The nodes divide the
machine's CPUs and memory; where there are more nodes than CPUs they share them.
An agent that ends before, as by kill -9, is started again; its jobs go on.`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			if o.nodes < 1 || o.nodes > maxDevNodes {
				return fmt.Errorf("--nodes %d: it must be between 1 and %d", o.nodes, maxDevNodes)
			}
			if o.channels < 1 || o.channels > nodeagent.MaxChannels {
				return fmt.Errorf("--channels %d: it must be between 1 and %d", o.channels, nodeagent.MaxChannels)
			}
			o.out = command.OutOrStdout()
			ctx, stop := untilStopped(command.Context())
			defer stop()
			return runDev(ctx, o)
		},
	}
	command.Flags().IntVarP(&o.nodes, "nodes", "N", 1, "how `many` nodes")
	command.Flags().IntVar(&o.channels, "channels", nodeagent.DefaultChannels, "how `many` channels each node has for the jobs that run together")
	command.Flags().StringVar(&o.socket, "socket", "", "`path` of the socket for users (default: where your scrun finds it by itself)")
	command.Flags().StringVar(&o.logLevel, "log-level", "warn", "debug, info, warn or error")
	return command
}

// devCluster is a running development cluster.
type devCluster struct {
	devOptions
	dir    *rundir.Dir
	config config.Config // of the server, and of the agents but for their part
	plan   []devNode
	agents []*lifeline.Child
}

func runDev(ctx context.Context, o devOptions) (err error) {
	cpus, memory, err := machine()
	if err != nil {
		return err
	}
	parent, err := client.UserDir(true)
	if err != nil {
		return err
	}
	dir, err := rundir.Make(parent, "dev", func(name string) { sweepDev(parent, name) })
	if err != nil {
		return err
	}
	defer func() {
		sweepDev(parent, dir.Name()) // what agents that were killed have left
		err = errors.Join(err, dir.Close())
	}()
	c := &devCluster{devOptions: o, dir: dir, plan: divide(o.nodes, cpus, memory)}
	if err := c.configure(); err != nil {
		return err
	}
	return c.run(ctx)
}

// agentsDir holds a directory for each agent, named like the node.
func agentsDir(dir string) string { return filepath.Join(dir, "agents") }

// sweepDev removes the control groups and the jobs' files of a development cluster whose agents are
// all gone, some of them perhaps by force.
func sweepDev(parent, name string) {
	agents := agentsDir(filepath.Join(parent, name))
	nodes, err := os.ReadDir(agents)
	if err != nil {
		return // it had not come as far as to start an agent
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
	c.config.Agent.Channels = c.channels
	c.config.Agent.Grace = devGrace
	c.config.Log.Level = c.logLevel
	return nil
}

// run starts the server, then the agents, and stops them in the other order.
func (c *devCluster) run(ctx context.Context) error {
	logger, err := newLogger(c.logLevel)
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
	return server.New(options)
}

// runNodes starts the agents, tells the user, and waits for the end.
func (c *devCluster) runNodes(ctx context.Context, control *server.Server) error {
	address, err := url.Parse(control.AgentURL())
	if err != nil {
		return err
	}
	c.config.Agent.Servers = []string{address.Host}
	if err := c.startAgents(ctx); err != nil {
		return quietIfStopped(ctx, err)
	}
	api.Warm() // the server's messages, before the first user comes
	c.tell()
	c.awaitEnd(ctx)
	return nil
}

// awaitEnd returns when ctx ends. Agents that are lost meanwhile are started again.
func (c *devCluster) awaitEnd(ctx context.Context) {
	var watches sync.WaitGroup
	defer watches.Wait()
	for i := range c.agents {
		watches.Go(func() { c.keepAgent(ctx, i) })
	}
	<-ctx.Done()
}

// keepAgent starts the agent of a node again whenever it has ended, and tells the user.
func (c *devCluster) keepAgent(ctx context.Context, i int) {
	for pause := time.Duration(0); ; pause = min(max(2*pause, devPause), devPauseMost) {
		select {
		case <-c.agents[i].Exited():
		case <-ctx.Done():
			return
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return
		}
		fmt.Fprintf(c.out, "The agent of node %s has ended; it is started again, and takes over its jobs.\n", c.plan[i].name)
		if err := c.restartAgent(ctx, i); err != nil && ctx.Err() == nil {
			fmt.Fprintf(c.out, "The agent of node %s could not be started: %v\n", c.plan[i].name, err)
		}
	}
}

// restartAgent puts a new agent in the place of one that has ended.
func (c *devCluster) restartAgent(ctx context.Context, i int) error {
	ctx, cancel := context.WithTimeoutCause(ctx, devTimeout, fmt.Errorf("it was not up within %v", devTimeout))
	defer cancel()
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("cannot find this program: %w", err)
	}
	agent, err := c.startAgent(ctx, self, c.plan[i])
	if err == nil {
		c.agents[i] = agent
	}
	return err
}

// quietIfStopped forgets an error that ^C during the start has caused.
func quietIfStopped(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

func (c *devCluster) startAgents(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, devTimeout, fmt.Errorf("the nodes were not up within %v", devTimeout))
	defer cancel()
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("cannot find this program: %w", err)
	}
	if err := os.Mkdir(c.config.Agent.RunDir, 0o700); err != nil {
		return err
	}
	c.agents = make([]*lifeline.Child, len(c.plan))
	var starts errgroup.Group
	for i, node := range c.plan {
		starts.Go(func() (err error) {
			c.agents[i], err = c.startAgent(ctx, self, node)
			return err
		})
	}
	if err := starts.Wait(); err != nil {
		return err
	}
	daemon := client.New(c.config.Server.Socket)
	defer daemon.Close()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	for i, agent := range c.agents {
		go c.watch(ctx, stop, agent, c.plan[i].name)
	}
	return embedded.AwaitNodes(ctx, daemon, len(c.plan), devPoll)
}

// watch gives up the start when an agent ends; it has said why.
func (c *devCluster) watch(ctx context.Context, stop context.CancelCauseFunc, agent *lifeline.Child, name string) {
	select {
	case <-agent.Exited():
		stop(fmt.Errorf("the agent of node %s ended", name))
	case <-ctx.Done():
	}
}

func (c *devCluster) startAgent(ctx context.Context, self string, node devNode) (*lifeline.Child, error) {
	settings := c.config
	settings.Agent.Name = node.name
	settings.Agent.CPUs = node.cpus
	settings.Agent.SharesCPUs = node.shares
	settings.Agent.Memory = fmt.Sprintf("%dK", node.memory>>10)
	path := filepath.Join(c.dir.Path(), node.name+".toml")
	if err := config.Write(path, settings); err != nil {
		return nil, fmt.Errorf("cannot write the configuration of node %s: %w", node.name, err)
	}
	command := exec.Command(self, "agent", "--tied", "--config", path)
	command.Stderr = os.Stderr
	agent, err := lifeline.Start(ctx, command)
	if err != nil {
		return nil, fmt.Errorf("node %s: %w", node.name, err)
	}
	return agent, nil
}

// stopAgents ends the nodes and their jobs, all at the same time. An agent that is lost is
// started once more, to end what it has left.
func (c *devCluster) stopAgents() {
	var stops errgroup.Group
	for i, agent := range c.agents {
		if agent == nil {
			continue
		}
		stops.Go(func() error {
			select {
			case <-agent.Exited():
				if c.restartAgent(context.Background(), i) != nil {
					return nil // its stewards end by themselves
				}
			default:
			}
			c.agents[i].Stop()
			return nil
		})
	}
	_ = stops.Wait() // no stop fails
}

func (c *devCluster) tell() {
	fmt.Fprintln(c.out, describePlan(c.plan))
	fmt.Fprintln(c.out, "In another terminal:")
	if usual, err := client.DevSocket(); err != nil || usual != c.config.Server.Socket {
		fmt.Fprintf(c.out, "  export %s=%s\n", client.SocketVariable, c.config.Server.Socket)
	}
	fmt.Fprintf(c.out, "  scrun -N %d -n %d hostname\n  scored job list\n^C ends the cluster and everything it runs.\n",
		len(c.plan), 2*len(c.plan))
}
