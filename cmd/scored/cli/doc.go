// Package cli has the commands with which users and administrators show and control a cluster: all
// commands of scored except those that run a daemon.
//
// Every command makes one or two calls of this host's daemon and prints a table for people or, with
// --json, one object for programs. It starts no daemon (package daemon does) and links none. Read
// root.go first (options, connection, errors), then job.go as an example of a command; table.go
// prints tables and JSON.
//
//	root := cli.Root()
//	root.AddCommand(daemon.Commands()...)
//	os.Exit(cli.Execute(root, os.Args[1:]))
package cli
