// Package cli has the commands with which users and administrators look at and control a cluster:
// all commands of scored except those of package daemon.
//
// Every command makes one or two calls of this host's daemon, and prints a table for people or,
// with --json, one object for programs. The package neither starts nor links a daemon; package
// daemon does. Begin with root.go; each command is in a file of its name.
//
//	root := cli.Root()
//	root.AddCommand(daemon.Commands()...)
//	os.Exit(cli.Execute(root, os.Args[1:]))
package cli
