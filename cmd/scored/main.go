package main

import (
	"os"

	"score/cmd/scored/cli"
	"score/cmd/scored/daemon"
	"score/nodeagent/steward"
)

func main() {
	// Before cobra: stewards are started often, and their memory is counted.
	if len(os.Args) > 1 && os.Args[1] == "steward" {
		os.Exit(steward.Main(os.Args[2:]))
	}
	root := cli.Root()
	root.AddCommand(daemon.Commands()...)
	root.AddCommand(manCommand(root))
	os.Exit(cli.Execute(root, os.Args[1:]))
}
