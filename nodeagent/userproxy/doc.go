// Package userproxy serves the users of a host without a server: it takes their calls at a Unix socket
// of the agent's own, and forwards them to the servers with the user's number, which it has from the
// kernel. It forwards nothing else that the caller says of itself.
//
// The servers decide what the user may do. It is not for clusters without certificates, whose daemons
// are all on one host.
//
//	proxy := userproxy.New(userproxy.Options{Socket: "/run/score/agent.sock", Credentials: own, Servers: link, Logger: log})
//	proxy.Run(ctx)
package userproxy
