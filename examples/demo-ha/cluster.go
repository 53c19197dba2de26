package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"score/cmd/scored/config"
	"strings"
	"syscall"
	"time"
)

var (
	serverNames = []string{"s1", "s2", "s3"}
	nodeNames   = []string{"n1", "n2", "n3"}
)

// cluster is three servers and three agents.
type cluster struct {
	ctx     context.Context //nolint:containedctx // the demonstration's
	dir     string
	socket  string // of the server that commands ask
	address map[string]string
	servers map[string]*process
	agents  map[string]*process
}

func newCluster(ctx context.Context, dir string) *cluster {
	return &cluster{ctx: ctx, dir: dir, address: map[string]string{}, servers: map[string]*process{}, agents: map[string]*process{}}
}

// process is a daemon.
type process struct {
	*exec.Cmd
	over chan struct{}
}

func (p *process) kill() {
	_ = p.Process.Kill() // it may have ended
	<-p.over
}

func (c *cluster) path(name string) string { return filepath.Join(c.dir, name) }

// ask makes later commands ask a server other than the named one.
func (c *cluster) ask(not string) {
	for _, name := range serverNames {
		if name != not {
			c.socket = c.path(name + ".sock")
		}
	}
}

func (c *cluster) start() error {
	if err := c.initialize(); err != nil {
		return err
	}
	for i, name := range serverNames {
		if err := c.startServer(name, i == 0); err != nil {
			return err
		}
	}
	c.ask("s1")
	return c.startAgents()
}

// initialize chooses the servers' addresses, and creates the first server's certificates.
func (c *cluster) initialize() error {
	for _, name := range serverNames {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		c.address[name] = listener.Addr().String()
		listener.Close()
	}
	say("$ scored init --server s1 --address %s", c.address["s1"])
	_, err := c.scored(
		"init",
		"--config",
		c.path("init.toml"),
		"--certificates",
		c.path("s1"),
		"--key-file",
		c.path("s1.key"),
		"--name",
		"demo",
		"--server",
		"s1",
		"--address",
		c.address["s1"],
	)
	return err
}

// startServer starts a server, and waits until it is a voter.
func (c *cluster) startServer(name string, first bool) (err error) {
	token := ""
	if first {
		say("$ scored server    # %s", name)
	} else {
		say("$ scored token create --role server | scored server --join -    # %s", name)
		if token, err = c.scored("token", "create", "--role", "server"); err != nil {
			return err
		}
	}
	if err := c.daemon(c.servers, "server", name, token); err != nil {
		return err
	}
	c.socket = c.path("s1.sock")
	return c.await(name+" has a vote", func() bool {
		out, err := c.scored("server", "list")
		return err == nil && strings.Contains(out, name+" ") && !strings.Contains(out, "newcomer")
	})
}

// startAgents starts the nodes, and waits until all are up.
func (c *cluster) startAgents() error {
	for _, name := range nodeNames {
		say("$ scored token create | scored agent --join -    # %s", name)
		token, err := c.scored("token", "create")
		if err != nil {
			return err
		}
		if err := c.daemon(c.agents, "agent", name, token); err != nil {
			return err
		}
	}
	return c.await("all nodes are up", func() bool {
		out, err := c.scored("node", "list")
		return err == nil && strings.Count(out, " up ") == len(nodeNames)
	})
}

// daemon starts a server or an agent with a configuration, certificates and directories of its own.
func (c *cluster) daemon(all map[string]*process, kind, name, token string) error {
	s := config.Default()
	s.Cluster = config.Cluster{Name: "demo", KeyFile: c.path(name + ".key"), Certificates: c.path(name)}
	s.Server.Name, s.Server.DataDir, s.Server.Socket = name, c.path(name+".data"), c.path(name+".sock")
	if kind == "server" {
		s.Server.AgentsListen = c.address[name]
	}
	s.Agent.Name, s.Agent.Listen, s.Agent.RunDir = name, "127.0.0.1:0", c.path("run")
	s.Agent.Servers = []string{c.address["s1"], c.address["s2"], c.address["s3"]}
	s.Agent.CPUs, s.Agent.SharesCPUs, s.Agent.Memory, s.Agent.Grace = []int{0}, true, "1G", "2s"
	s.Log.Level = "error"
	file := c.path(name + ".toml")
	if err := config.Write(file, s); err != nil {
		return err
	}
	arguments := []string{kind, "--config", file}
	if token != "" {
		arguments = append(arguments, "--join", "-")
	}
	log, err := os.Create(c.path(name + ".log"))
	if err != nil {
		return err
	}
	defer log.Close()
	p := &process{Cmd: exec.Command("bin/scored", arguments...), over: make(chan struct{})}
	p.Stdin, p.Stderr = strings.NewReader(token), log
	p.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGINT} // as under a service manager
	if err := p.Start(); err != nil {
		return fmt.Errorf("%w (run make build first)", err)
	}
	go func() { _ = p.Wait(); close(p.over) }() // only that it ended matters
	all[name] = p
	return nil
}

// stop ends the agents and then the servers.
func (c *cluster) stop() error {
	var errs []error
	for _, all := range []map[string]*process{c.agents, c.servers} {
		for _, p := range all {
			_ = p.Process.Signal(os.Interrupt) // it may have ended
		}
		for name, p := range all {
			select {
			case <-p.over:
			case <-time.After(patience):
				p.kill()
				errs = append(errs, fmt.Errorf("%s did not end", name))
			}
		}
	}
	return errors.Join(errs...)
}

func (c *cluster) environment() []string { return append(os.Environ(), "SCORE_SOCKET="+c.socket) }

// scored runs a scored command as a user does and returns its output.
func (c *cluster) scored(arguments ...string) (string, error) {
	var failure strings.Builder
	command := exec.CommandContext(c.ctx, "bin/scored", arguments...)
	command.Env, command.Stderr = c.environment(), &failure
	out, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("scored %s: %w: %s", strings.Join(arguments, " "), err, strings.TrimSpace(failure.String()))
	}
	return string(out), nil
}

// leader returns the name of the leading server.
func (c *cluster) leader() (string, error) {
	out, err := c.scored("server", "list")
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(out) {
		if fields := strings.Fields(line); len(fields) > 2 && fields[2] == "leader" {
			return fields[0], nil
		}
	}
	return "", errors.New("no server leads")
}

// await waits until the condition is holds.
func (c *cluster) await(what string, is func() bool) error {
	limit := time.After(patience)
	for !is() {
		select {
		case <-time.After(look):
		case <-limit:
			return fmt.Errorf("not within %v: %s", patience, what)
		case <-c.ctx.Done():
			return context.Cause(c.ctx)
		}
	}
	return nil
}

// job is an attached scrun.
type job struct {
	name, id string
	command  *exec.Cmd
	shown    chan struct{}
}

// scrun starts an attached scrun, by a server that is not killed.
func (c *cluster) scrun(name string, arguments ...string) (*job, error) {
	say("$ scrun -J %s %s &", name, strings.Join(arguments[:len(arguments)-3], " "))
	j := &job{name: name, command: exec.CommandContext(c.ctx, "bin/scrun", append([]string{"-J", name}, arguments...)...), shown: make(chan struct{})}
	read, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	j.command.Env, j.command.Stdout, j.command.Stderr = c.environment(), write, write
	if err := j.command.Start(); err != nil {
		return nil, errors.Join(err, read.Close(), write.Close())
	}
	write.Close()
	go j.show(read)
	return j, c.await("job "+name+" is known", func() bool { j.id = c.jobField(name, 0); return j.id != "" })
}

func (j *job) show(from io.ReadCloser) {
	defer close(j.shown)
	defer from.Close()
	for lines := bufio.NewScanner(from); lines.Scan(); {
		say("    %s: %s", j.name, lines.Text())
	}
}

// wait waits until scrun has ended with exit code 0.
func (j *job) wait() error {
	<-j.shown
	if err := j.command.Wait(); err != nil {
		return fmt.Errorf("job %s: %w", j.name, err)
	}
	say("job %s has ended, and scrun with exit code 0", j.name)
	return nil
}

func (c *cluster) jobState(j *job) string { return c.jobField(j.name, 3) }

// jobField returns a field of the list's line for the named job, "" if there is no such job.
func (c *cluster) jobField(name string, field int) string {
	out, err := c.scored("job", "list")
	if err != nil {
		return ""
	}
	for line := range strings.Lines(out) {
		if fields := strings.Fields(line); len(fields) > field && fields[1] == name {
			return fields[field]
		}
	}
	return ""
}
