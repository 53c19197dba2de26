// Package userproxy serves the users of a host without a server: it takes their calls at a Unix
// socket of the agent's own, and forwards them to the servers with the user's id, as reported by
// the kernel. It forwards no other claim of the caller.
//
// The servers decide what the user may do. It is not for clusters without certificates, whose
// daemons are all on one host.
//
//	proxy := userproxy.New(userproxy.Options{
//		Socket: "/run/score/agent.sock", Credentials: own, Servers: link, Logger: log,
//	})
//	proxy.Run(ctx)
package userproxy
