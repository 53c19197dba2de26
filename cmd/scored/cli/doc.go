// Package cli is what users ask of a cluster besides running a program: scored
// job, node, metrics, matrix, config and version.
//
// Every command is one or two calls of the daemon of this host, and a table for
// people or, with --json, one object for programs. It starts no daemon (package
// daemon does) and links none.
//
//	root := cli.Root()
//	root.AddCommand(daemon.Commands()...)
//	os.Exit(cli.Execute(root, os.Args[1:]))
package cli
