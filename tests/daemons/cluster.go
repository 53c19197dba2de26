package daemons

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"score/cmd/scored/config"
	"score/nodeagent"
	"score/scored/api/scorev1"
	"score/scored/client"
	"score/tests/ports"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	"connectrpc.com/connect"
)

// nodeMemory is what a node promises, more than all jobs of a test ask for.
const nodeMemory = "1G"

// ErrStart means that the cluster did not come up.
var ErrStart = errors.New("the cluster did not come up")

// Options of a cluster; the first three are needed.
type Options struct {
	Bin   string // directory of scored and scrun
	Dir   string // empty, with a short name: it will have sockets
	Nodes int    // n1, n2, ...
	// Servers are s1, s2, ..., with certificates; 0: one, without.
	Servers int
	Slice   time.Duration
	// ServerBin and AgentBin are directories of programs for the daemons; empty: Bin.
	ServerBin, AgentBin string
	// Grace is how long jobs go on without their agent.
	Grace time.Duration
	// Network, if not nil, has a host for each server and each node, by name.
	Network *Network
	// OneCPU gives each node one CPU, so that gangs take turns; default: all of this process. Nodes
	// beside each other begin with different ones.
	OneCPU bool
	// Clocks gives each daemon, and what it starts, a time of day of its own (Daemon.Clock).
	// TestMain must call hostclock.Main.
	Clocks bool
	// DataDisk is the size in bytes of a file system of its own for each server's data directory,
	// which a test can fill; 0: none. It counts with Servers.
	DataDisk int64
	// Env is added to this process's environment.
	Env []string
	// Errors gets what goes wrong; default: standard error.
	Errors io.Writer
}

// Cluster is a running cluster with a client of its server.
type Cluster struct {
	*client.Client
	Options
	Name    string
	Server  *Daemon // the first
	Servers []*Daemon
	Agents  []*Daemon

	// stderr is the standard error of every daemon; its other end is read until Stop. It is a file,
	// so that the end of a daemon is noticed before its stewards have ended, too.
	stderr, reader *os.File
	read           chan struct{} // closed when nobody reads

	agentsListen string
	disks        []string   // mounted for servers
	mu           sync.Mutex // of Servers, once some are added or removed
}

// Start starts a cluster that lasts until Stop, at most as long as this process. The
// error wraps ErrStart.
func Start(ctx context.Context, o Options) (*Cluster, error) {
	if o.Errors == nil {
		o.Errors = os.Stderr
	}
	c := &Cluster{Options: o, Name: "t" + strconv.Itoa(os.Getpid()) + "-" + filepath.Base(o.Dir)}
	err := c.listen()
	if err == nil {
		err = c.start(ctx)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%w: %w", ErrStart, err), c.Stop())
	}
	return c, nil
}

func (c *Cluster) start(ctx context.Context) error {
	servers := max(c.Options.Servers, 1)
	free, err := ports.Free(servers + 2*c.Nodes)
	if err != nil {
		return err
	}
	if c.Options.Servers > 0 {
		err = c.startServers(ctx, free[:c.Options.Servers])
	} else {
		err = c.startServer(ctx, free[0])
	}
	if err != nil {
		return err
	}
	settings, free := c.settings(ports.Join(0)), free[servers:]
	for i := range c.Nodes {
		name := "n" + strconv.Itoa(i+1)
		settings.Agent.Name = name
		settings.Agent.Socket = filepath.Join(c.Dir, name+".sock") // each as if on a host of its own
		settings.Agent.Listen = c.address(name, free[2*i])
		if settings.Agent.CPUs, err = c.cpus(i); err != nil {
			return err
		}
		settings.Agent.MetricsListen = ports.Join(free[2*i+1])
		agent := c.daemon(name, "agent")
		agent.Metrics = "http://" + settings.Agent.MetricsListen + "/metrics"
		c.Agents = append(c.Agents, agent)
		own := settings
		if c.Options.Servers > 0 {
			own = c.member(name, settings)
			if err := c.admit(ctx, agent, "agent"); err != nil {
				return err
			}
		}
		if err := c.run(agent, own); err != nil {
			return err
		}
	}
	return c.AwaitUp(ctx)
}

// startServer starts one server, which needs no certificate.
func (c *Cluster) startServer(ctx context.Context, port int) error {
	settings := c.settings(ports.Join(port))
	c.agentsListen = settings.Server.AgentsListen
	c.Server = c.daemon("server", "server")
	c.Server.Socket = settings.Server.Socket
	c.Servers = []*Daemon{c.Server}
	if err := c.run(c.Server, settings); err != nil {
		return err
	}
	c.Client = client.New(settings.Server.Socket)
	return Await(ctx, "the server answers", func() bool {
		_, err := c.nodes(ctx)
		return err == nil
	})
}

// address is where a daemon listens.
func (c *Cluster) address(name string, port int) string {
	if c.Network == nil {
		return ports.Join(port)
	}
	return net.JoinHostPort(c.Network.Address(name), strconv.Itoa(port))
}

func (c *Cluster) settings(listen string) config.Config {
	s := config.Default()
	s.Cluster = config.Cluster{Name: c.Name, KeyFile: c.KeyFile()}
	s.Server.DataDir = filepath.Join(c.Dir, "data")
	s.Server.Socket = c.Socket()
	s.Server.AgentsListen = listen
	if c.Slice > 0 {
		s.Server.Slice = c.Slice.String()
	}
	s.Agent.Servers = []string{s.Server.AgentsListen}
	if c.agentsListen != "" {
		s.Agent.Servers = []string{c.agentsListen}
	}
	s.Agent.RunDir = c.runDir()
	s.Agent.StageDir = c.stageDir()
	s.Agent.SharesCPUs = true
	s.Agent.Channels = nodeagent.DefaultChannels // whatever the machine has: see ExchangeInTurn
	s.Agent.Memory = nodeMemory
	s.Agent.Grace = c.Grace.String()
	s.Log.Level = "warn"
	return s
}

// listen passes on the daemons' standard error.
func (c *Cluster) listen() (err error) {
	if c.reader, c.stderr, err = os.Pipe(); err != nil {
		return err
	}
	c.read = make(chan struct{})
	go func() {
		defer close(c.read)
		_, _ = io.Copy(c.Errors, c.reader) // it ends when Stop closes it
	}()
	return nil
}

// Socket returns the first server's socket for users.
func (c *Cluster) Socket() string {
	if len(c.Servers) > 0 {
		return c.Servers[0].Socket
	}
	return filepath.Join(c.Dir, "s.sock")
}

// KeyFile returns the file with the secret of a cluster without certificates.
func (c *Cluster) KeyFile() string { return filepath.Join(c.Dir, "key") }

// AgentsListen returns where agents connect, host:port.
func (c *Cluster) AgentsListen() string { return c.agentsListen }

// runDir holds the agents' directories, named like the nodes.
func (c *Cluster) runDir() string { return filepath.Join(c.Dir, "run") }

// stageDir holds the files that go along with jobs, and the jobs' directories.
func (c *Cluster) stageDir() string { return filepath.Join(c.Dir, "stage") }

// Points returns the file that SCORE_FAILPOINTS of all daemons names.
func (c *Cluster) Points() string { return filepath.Join(c.Dir, "points") }

// Fail sets failpoints in the running daemons; empty: none.
func (c *Cluster) Fail(list string) error {
	draft := c.Points() + ".new"
	if err := os.WriteFile(draft, []byte(list), 0o600); err != nil {
		return err
	}
	return os.Rename(draft, c.Points())
}

// Agent returns the agent of a node.
func (c *Cluster) Agent(node string) *Daemon {
	for _, a := range c.Agents {
		if a.Name == node {
			return a
		}
	}
	return nil
}

// AwaitUp waits until all nodes are up. The error has their states.
func (c *Cluster) AwaitUp(ctx context.Context) error {
	var nodes []*scorev1.Node
	var failed error
	down := func(n *scorev1.Node) bool { return !n.GetUp() }
	err := Await(ctx, "all nodes are up", func() bool {
		nodes, failed = c.nodes(ctx)
		return failed == nil && len(nodes) == c.Nodes && !slices.ContainsFunc(nodes, down)
	})
	if err != nil {
		return errors.Join(err, failed, fmt.Errorf("nodes: %v", nodes))
	}
	return nil
}

func (c *Cluster) nodes(ctx context.Context) ([]*scorev1.Node, error) {
	reply, err := c.Cluster.ListNodes(ctx, connect.NewRequest(&scorev1.ListNodesRequest{}))
	if err != nil {
		return nil, err
	}
	return reply.Msg.GetNodes(), nil
}

// Stop ends all daemons in order and waits.
func (c *Cluster) Stop() error {
	if c.Client != nil {
		c.Close()
	}
	var errs []error
	for _, a := range c.Agents {
		a.signal(syscall.SIGTERM)
	}
	for _, a := range c.Agents {
		errs = append(errs, a.Stop())
	}
	for _, s := range c.Servers {
		s.signal(syscall.SIGTERM)
	}
	for _, s := range c.Servers {
		errs = append(errs, s.Stop())
	}
	for _, d := range slices.Concat(c.Agents, c.Servers) {
		if d.Clock != nil {
			errs = append(errs, d.Clock.Close())
		}
	}
	errs = append(errs, c.unmountDisks())
	if c.read != nil {
		c.stderr.Close()
		c.reader.Close() // what stewards print from now on is lost
		<-c.read
	}
	return errors.Join(errs...)
}
