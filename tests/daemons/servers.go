package daemons

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"score/cmd/scored/config"
	"score/scored/client"
)

// errCommand is wrapped by the errors of scored's commands.
var errCommand = errors.New("a command failed")

// startServers starts several servers, which need certificates: the first by init, the others by tokens.
func (c *Cluster) startServers(ctx context.Context, ports []int) error {
	for i, port := range ports {
		name := "s" + strconv.Itoa(i+1)
		settings := c.member(name, c.settings(port))
		settings.Server.Name = name
		settings.Server.DataDir = filepath.Join(c.Dir, "data-"+name)
		settings.Server.Socket = filepath.Join(c.Dir, name+".sock")
		server := c.daemon(name, "server")
		server.Socket = settings.Server.Socket
		c.Servers = append(c.Servers, server)
		if i == 0 {
			c.Server, c.agentsListen = server, settings.Server.AgentsListen
			if err := c.init(ctx, settings); err != nil {
				return err
			}
			c.Client = client.New(server.Socket)
		} else if err := c.admit(ctx, server, "server"); err != nil {
			return err
		}
		if err := c.run(server, settings); err != nil {
			return err
		}
		err := Await(ctx, "server "+name+" takes part", func() bool {
			servers, err := c.ServerStates(ctx, c.Servers[0].Socket)
			return err == nil && len(servers) == i+1 && servers[i].Voter
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// member gives a daemon a certificate and a key of its own.
func (c *Cluster) member(name string, settings config.Config) config.Config {
	settings.Cluster.Certificates = filepath.Join(c.Dir, "certs-"+name)
	settings.Cluster.KeyFile = filepath.Join(c.Dir, "key-"+name)
	return settings
}

// init makes the cluster's authority and the first server's certificate.
func (c *Cluster) init(ctx context.Context, s config.Config) error {
	_, err := c.Command(ctx, "", "init", "--config", filepath.Join(c.Dir, "init.toml"), "--certificates", s.Cluster.Certificates,
		"--key-file", s.Cluster.KeyFile, "--name", c.Name, "--server", s.Server.Name, "--address", s.Server.AgentsListen)
	return err
}

// admit lets a daemon join when it is first started.
func (c *Cluster) admit(ctx context.Context, d *Daemon, role string) error {
	token, err := c.Token(ctx, role)
	d.join = token
	return err
}

// Token makes a token for a daemon of the role.
func (c *Cluster) Token(ctx context.Context, role string) (string, error) {
	token, err := c.Command(ctx, c.Servers[0].Socket, "token", "create", "--role", role)
	return strings.TrimSpace(token), err
}

// ServerState is what a server is in the cluster.
type ServerState struct {
	Name   string
	Leader bool
	Voter  bool
}

// ServerStates are all servers', by name, as the server with this socket tells.
func (c *Cluster) ServerStates(ctx context.Context, socket string) ([]ServerState, error) {
	text, err := c.Command(ctx, socket, "server", "list", "--json")
	if err != nil {
		return nil, err
	}
	var list struct{ Servers []ServerState }
	err = json.Unmarshal([]byte(text), &list)
	return list.Servers, err
}

// Command runs one of scored's commands for the server with this socket, and gives its output. The error has what it
// said.
func (c *Cluster) Command(ctx context.Context, socket string, args ...string) (string, error) {
	command := exec.CommandContext(ctx, filepath.Join(c.Bin, "scored"), args...)
	command.Env = append(os.Environ(), client.SocketVariable+"="+socket)
	var said strings.Builder
	command.Stderr = &said
	out, err := command.Output()
	if err != nil {
		err = fmt.Errorf("%w: scored %s: %w: %s", errCommand, strings.Join(args, " "), err, said.String())
	}
	return string(out), err
}
