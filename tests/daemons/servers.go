package daemons

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"score/cmd/scored/config"
	"score/scored/client"
	"score/tests/ports"
	"slices"
	"strconv"
	"strings"
)

// startServers starts several servers, which need certificates: the first by init, the others by
// tokens.
func (c *Cluster) startServers(ctx context.Context, free []int) error {
	for i, port := range free {
		if _, err := c.addServer(ctx, "s"+strconv.Itoa(i+1), port); err != nil {
			return err
		}
	}
	return nil
}

// AddServer has one more join, and waits until it votes.
func (c *Cluster) AddServer(ctx context.Context, name string) (*Daemon, error) {
	free, err := ports.Free(1)
	if err != nil {
		return nil, err
	}
	return c.addServer(ctx, name, free[0])
}

func (c *Cluster) addServer(ctx context.Context, name string, port int) (*Daemon, error) {
	settings := c.member(name, c.settings(c.address(name, port)))
	settings.Server.Name = name
	settings.Server.Socket = filepath.Join(c.Dir, name+".sock")
	server := c.daemon(name, "server")
	server.Socket = settings.Server.Socket
	settings.Server.DataDir = server.DataDir()
	err := c.mountDisk(server)
	switch {
	case err != nil:
	case c.Server == nil:
		c.Server, c.agentsListen = server, settings.Server.AgentsListen
		c.Client = client.New(server.Socket)
		err = c.init(ctx, settings)
	default:
		err = c.admit(ctx, server, "server")
	}
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	c.Servers = append(c.Servers, server)
	c.mu.Unlock()
	if err := c.run(server, settings); err != nil {
		return nil, err
	}
	return server, Await(ctx, "server "+name+" takes part", func() bool {
		servers, err := c.ServerStates(ctx, c.Servers[0].Socket)
		return err == nil && slices.ContainsFunc(servers, func(s ServerState) bool { return s.Name == name && s.Voter })
	})
}

// RemoveServer takes a server out of the cluster and waits for its end. It repeats the request
// while no other server is ready to lead, as on a busy machine.
func (c *Cluster) RemoveServer(ctx context.Context, server *Daemon) error {
	c.mu.Lock()
	c.Servers = slices.DeleteFunc(slices.Clone(c.Servers), func(d *Daemon) bool { return d == server })
	c.Server = c.Servers[0]
	c.mu.Unlock()
	if c.Client.Socket() == server.Socket {
		c.Close()
		c.Client = client.New(c.Server.Socket)
	}
	var err error
	await := Await(ctx, "server "+server.Name+" is removed, and ends", func() bool {
		select {
		case <-server.Ended():
			return true
		default:
			_, err = c.Command(ctx, c.Server.Socket, "server", "remove", server.Name)
			return false
		}
	})
	if await != nil {
		return errors.Join(await, err)
	}
	return nil
}

// StepDown has another server lead.
func (c *Cluster) StepDown(ctx context.Context) error {
	return Await(ctx, "another server leads", func() bool {
		_, err := c.Command(ctx, c.Socket(), "server", "step-down")
		return err == nil
	})
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

// ServerState is the state of a server in the cluster.
type ServerState struct {
	Name   string
	Leader bool
	Voter  bool
}

// ServerStates returns the states of all servers, by name, as the server with this socket reports
// them.
func (c *Cluster) ServerStates(ctx context.Context, socket string) ([]ServerState, error) {
	text, err := c.Command(ctx, socket, "server", "list", "--json")
	if err != nil {
		return nil, err
	}
	var list struct{ Servers []ServerState }
	err = json.Unmarshal([]byte(text), &list)
	return list.Servers, err
}
