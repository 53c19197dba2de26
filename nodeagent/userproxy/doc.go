// Package userdoor serves the users of a node's host where no server runs: at a Unix socket of the
// agent's own it takes the calls that a server's takes, and passes them on to the servers, with the
// number of the user whom the kernel tells and nothing else that the caller says of itself.
//
// It decides nothing: what the user may do, the servers say, to whom everybody is a user like any
// other who comes by way of an agent. It is not for clusters without certificates, whose daemons
// are all on one host.
//
//	proxy := userdoor.New(userdoor.Options{Socket: "/run/score/agent.sock", Credentials: own, Servers: link, Logger: log})
//	proxy.Run(ctx)
package userproxy
