// Package cli has the commands by which users and administrators show and control
// a cluster: all of scored except those that run a daemon.
//
// Every command is one or two calls of the daemon of this host, and a table for
// people or, with --json, one object for programs. It starts no daemon (package
// daemon does) and links none.
//
//	root := cli.Root()
//	root.AddCommand(daemon.Commands()...)
//	os.Exit(cli.Execute(root, os.Args[1:]))
package cli
