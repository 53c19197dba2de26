// Package daemon holds the commands that run daemons (scored server, agent, dev, and the embedded
// cluster of scrun), and those that set daemons up (init, join, recover, restore, renew).
//
// It converts the configuration to the options of packages server and nodeagent, and ends their
// contexts on signals. Those packages have the daemons' work. Begin with commands.go, server.go and
// agent.go.
//
//	root.AddCommand(daemon.Commands()...)
package daemon
