package daemons

import (
	"context"
	"score/scored/api/scorev1"
	"score/scored/client"
	"slices"

	"connectrpc.com/connect"
)

// Leader asks a server which server leads; that one asks the leader itself. "": none leads for now.
func (c *Cluster) Leader(ctx context.Context, server *Daemon) string {
	user := client.New(server.Socket)
	defer user.Close()
	reply, err := user.Cluster.ListServers(ctx, connect.NewRequest(new(scorev1.ListServersRequest)))
	if err != nil {
		return ""
	}
	i := slices.IndexFunc(reply.Msg.GetServers(), func(s *scorev1.Server) bool { return s.GetLeader() })
	if i < 0 {
		return ""
	}
	return reply.Msg.GetServers()[i].GetName()
}

// AwaitLeader waits until the servers agree on a leader other than not.
func (c *Cluster) AwaitLeader(ctx context.Context, not string, among ...*Daemon) (leader *Daemon, err error) {
	name := ""
	err = Await(ctx, "another server than "+not+" leads", func() bool {
		name = c.Leader(ctx, among[0])
		return name != "" && name != not && !slices.ContainsFunc(among[1:], func(d *Daemon) bool { return c.Leader(ctx, d) != name })
	})
	if err != nil {
		return nil, err
	}
	return c.ServerNamed(name), nil
}

// ServerNamed returns a server; nil: there is none of that name.
func (c *Cluster) ServerNamed(name string) *Daemon {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.IndexFunc(c.Servers, func(d *Daemon) bool { return d.Name == name })
	if i < 0 {
		return nil
	}
	return c.Servers[i]
}

// OtherServers returns all servers but one.
func (c *Cluster) OtherServers(than *Daemon) []*Daemon {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(c.Servers), func(d *Daemon) bool { return d == than })
}
