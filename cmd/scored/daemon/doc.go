// Package daemon holds the commands that run something for longer: scored server, agent, dev, and
// the embedded cluster of scrun.
//
// It turns the configuration into the options of packages server and nodeagent, and signals into
// the end of their contexts. What the daemons do is in those packages.
//
//	root.AddCommand(daemon.Commands()...)
package daemon
