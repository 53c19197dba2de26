package daemon

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"score/cmd/scored/config"
	"score/cmd/scored/embedded"
	"score/cmd/scored/parentwatch"
	"score/scored/api"
	"score/scored/api/agentpb"
	"score/scored/client"
	"score/scored/server"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// agentsDir returns the directory that holds one for each agent, named like its node.
func agentsDir(dir string) string { return filepath.Join(dir, "agents") }

// runNodes starts the agents, prints how to use the cluster, and waits until ctx ends.
func (c *devCluster) runNodes(ctx context.Context, control *server.Server) error {
	address, err := url.Parse(control.AgentURL())
	if err != nil {
		return err
	}
	c.config.Agent.Servers = []string{address.Host}
	if err := c.startAgents(ctx); err != nil {
		return nilIfStopped(ctx, err)
	}
	api.Warm(agentpb.File_score_v1_agent_proto) // of the server's messages, before the first user comes
	c.printUse()
	c.awaitEnd(ctx)
	return nil
}

// awaitEnd returns when ctx ends. Until then it restarts agents that end.
func (c *devCluster) awaitEnd(ctx context.Context) {
	var watches sync.WaitGroup
	defer watches.Wait()
	for i := range c.agents {
		watches.Go(func() { c.keepAgent(ctx, i) })
	}
	<-ctx.Done()
}

// keepAgent restarts the agent of a node whenever it has ended, and prints that.
func (c *devCluster) keepAgent(ctx context.Context, i int) {
	for pause := time.Duration(0); ; pause = min(max(2*pause, devPause), maxDevPause) {
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

// restartAgent starts a new agent in place of one that has ended.
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

// nilIfStopped returns nil for an error that ^C has caused during the start.
func nilIfStopped(ctx context.Context, err error) error {
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
	c.agents = make([]*parentwatch.Child, len(c.plan))
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

// watch cancels the start when an agent ends. The agent has printed why.
func (c *devCluster) watch(ctx context.Context, stop context.CancelCauseFunc, agent *parentwatch.Child, name string) {
	select {
	case <-agent.Exited():
		stop(fmt.Errorf("the agent of node %s ended", name))
	case <-ctx.Done():
	}
}

func (c *devCluster) startAgent(ctx context.Context, self string, node devNode) (*parentwatch.Child, error) {
	path := filepath.Join(c.dir.Path(), node.name+".toml")
	if err := config.Write(path, c.agentSettings(node)); err != nil {
		return nil, fmt.Errorf("cannot write the configuration of node %s: %w", node.name, err)
	}
	command := exec.Command(self, "agent", "--tied", "--config", path)
	command.Stderr = os.Stderr
	agent, err := parentwatch.Start(ctx, command)
	if err != nil {
		return nil, fmt.Errorf("node %s: %w", node.name, err)
	}
	return agent, nil
}

// agentSettings returns the configuration of a node's agent. If nodes divide the machine, their
// jobs have the host's IPC namespace: UCX uses shared memory between two nodes only if they have
// the same.
func (c *devCluster) agentSettings(node devNode) config.Config {
	settings, divided := c.config, len(c.plan) > 1
	settings.Agent.Name = node.name
	settings.Agent.CPUs = node.cpus
	settings.Agent.SharesCPUs = node.shares
	settings.Agent.KeepToCPUs = divided
	settings.Agent.PrivateIPC = settings.Agent.PrivateIPC && !divided
	settings.Agent.Memory = fmt.Sprintf("%dK", node.memory>>10)
	return settings
}

// stopAgents ends all nodes and their jobs at the same time. An agent that is lost is started once
// more, so that it ends what it has left.
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
	_ = stops.Wait() // stops never fail
}
