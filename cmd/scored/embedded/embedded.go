// Package embedded is a cluster of one user on one machine, in one process, which lives as long as
// one job. It has the same server and the same agent as the daemons, but keeps the state in memory.
// Stewards are child processes, as in every cluster.
//
// scrun starts it if no cluster is configured. It is not for several nodes (use scored dev) and not
// for jobs that outlive their scrun.
//
//	err := embedded.Run(ctx, embedded.Options{Steward: exe, Ready: func(socket string) { ... }})
package embedded

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"score/cmd/scored/rundir"
	"score/nodeagent"
	"score/nodeagent/cgroup"
	"score/nodeagent/jobdirs"
	"score/nodeagent/mpidirs"
	"score/scored/api"
	"score/scored/api/scorev1"
	"score/scored/client"
	"score/scored/leader"
	"score/scored/server"
	"score/scored/state"
	"strings"
	"time"

	"connectrpc.com/connect"
	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"
)

const (
	// kind begins the names of the run directories.
	kind = "embedded"

	// joinPoll is the interval at which the server is asked whether the agent has joined. Joining
	// takes a few milliseconds, and no job can be placed before.
	joinPoll = time.Millisecond

	// joinTimeout bounds the wait for the agent to join.
	joinTimeout = 20 * time.Second

	// sweepTimeout bounds the removal of a killed cluster's remains.
	sweepTimeout = 2 * time.Second

	// defaultName is the node's name if the host's name is not a valid one.
	defaultName = "here"
)

// Options configure the cluster.
type Options struct {
	// Steward is the program that runs as a steward if its first argument is "steward".
	Steward string
	// Ready is called with the users' socket once jobs can be submitted.
	Ready func(socket string)
	// Logger gets one line per event. Nil: none.
	Logger *zap.Logger
}

// Run serves until ctx ends. Then it ends every job, and returns when nothing of the cluster is
// left.
func Run(ctx context.Context, options Options) (err error) {
	defer func() { err = client.NoRoom(err) }()
	if options.Logger == nil {
		options.Logger = zap.NewNop()
	}
	parent, err := client.MakeUserDir()
	if err != nil {
		return err
	}
	node := nodeName()
	dir, err := rundir.Make(parent, kind, func(name string) { Sweep(name, node, agentDir(filepath.Join(parent, name))) })
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dir.Close()) }()
	c := &cluster{options: options, dir: dir, node: node, key: rand.Text()}
	return c.run(ctx)
}

// Sweep removes the remains of an agent whose processes were all killed: the control groups of its
// node, and its jobs' files. It reports no errors: a later run removes what is left.
func Sweep(cluster, node, runDir string) {
	sweepGroups(cluster, node)
	jobdirs.Sweep(jobdirs.Default(runDir))
	_, _ = mpidirs.Sweep(context.Background(), mpidirs.Prefix(cluster, node, runDir))
}

func sweepGroups(cluster, node string) {
	root, err := cgroup.OpenRoot(cluster, node)
	if err != nil {
		return
	}
	deadline := time.Now().Add(sweepTimeout)
	if _, err := root.Sweep(deadline, nil); err != nil {
		return
	}
	_ = root.Remove(deadline) // nobody to tell: it belongs to a cluster that is gone
}

// cluster is one running cluster.
type cluster struct {
	options Options
	dir     *rundir.Dir
	node    string
	key     string
}

// agentDir returns the agent's directory in the directory of a run.
func agentDir(dir string) string { return filepath.Join(dir, "agent") }

func (c *cluster) socket() string { return filepath.Join(c.dir.Path(), "user.sock") }

// run starts the server and then the agent. It stops them in reverse order, so that the server gets
// the agent's last messages.
func (c *cluster) run(ctx context.Context) error {
	control, err := c.newServer()
	if err != nil {
		return err
	}
	agent, err := c.newAgent(control)
	if err != nil {
		return errors.Join(err, control.Close())
	}
	serverCtx, stopServer := context.WithCancel(context.WithoutCancel(ctx))
	defer stopServer()
	ctx, stopAgent := context.WithCancel(ctx)
	defer stopAgent()
	var servers errgroup.Group
	servers.Go(func() error {
		defer stopAgent()
		return control.Run(serverCtx)
	})
	agents, agentCtx := errgroup.WithContext(ctx)
	agents.Go(func() error { return agent.Run(agentCtx) })
	agents.Go(func() error {
		if err := c.awaitNode(agentCtx); err != nil {
			return err
		}
		c.options.Ready(c.socket())
		<-agentCtx.Done()
		return nil
	})
	err = agents.Wait()
	stopServer()
	return errors.Join(err, servers.Wait())
}

func (c *cluster) newServer() (*server.Server, error) {
	settings := state.DefaultSettings()
	// The node lives as long as this process: its silence means that the machine is busy.
	settings.NodeSilenceNanos = leader.MaxNodeSilence.Nanoseconds()
	return server.New(server.Options{
		UserSocket:  c.socket(),
		AgentListen: server.UnixPrefix + filepath.Join(c.dir.Path(), "agents.sock"),
		ClusterKey:  c.key,
		ClusterName: c.dir.Name(),
		Version:     api.Version(),
		SingleUser:  true,
		ShareCPUs:   true,
		Settings:    settings,
		Logger:      c.options.Logger,
	})
}

func (c *cluster) newAgent(control *server.Server) (*nodeagent.Agent, error) {
	return nodeagent.New(nodeagent.Options{
		Name:           c.node,
		Cluster:        c.dir.Name(),
		Version:        api.Version(),
		RunDir:         agentDir(c.dir.Path()),
		Servers:        []string{control.AgentURL()},
		Dial:           control.DialAgents,
		ClusterKey:     c.key,
		Listen:         "127.0.0.1:0",
		StewardExe:     c.options.Steward,
		WarmStewards:   1,                     // there is one job
		Channels:       nodeagent.MaxChannels, // nobody else needs them
		EnableRealtime: true,
		Logger:         c.options.Logger,
	})
}

// awaitNode returns when the node accepts jobs.
func (c *cluster) awaitNode(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, joinTimeout, fmt.Errorf("this machine did not join its own cluster within %v", joinTimeout))
	defer cancel()
	daemon := client.New(c.socket())
	defer daemon.Close()
	return AwaitNodes(ctx, daemon, 1, joinPoll)
}

// AwaitNodes asks the server at the interval every, until count nodes are up or ctx ends.
func AwaitNodes(ctx context.Context, daemon *client.Client, count int, every time.Duration) error {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		reply, err := daemon.Cluster.ListNodes(ctx, connect.NewRequest(&scorev1.ListNodesRequest{}))
		if err == nil && nodesUp(reply.Msg.GetNodes()) >= count {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
	}
}

func nodesUp(nodes []*scorev1.Node) int {
	up := 0
	for _, node := range nodes {
		if node.GetUp() {
			up++
		}
	}
	return up
}

// nodeName returns the host's name without its domain, as %N and scrun -v show it.
func nodeName() string {
	host, err := os.Hostname()
	if err != nil {
		return defaultName
	}
	name, _, _ := strings.Cut(host, ".")
	kept := strings.Map(func(r rune) rune {
		if r < 128 && (r == '-' || r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z') {
			return r
		}
		return -1
	}, name)
	if kept == "" || len(kept) > 63 || kept[0] == '-' || kept[0] == '_' {
		return defaultName
	}
	return kept
}
