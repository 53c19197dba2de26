package main

import (
	"os"
	"score/cmd/scored/cli"
	"score/cmd/scored/daemon"
	"score/nodeagent/steward"

	"github.com/spf13/cobra"
)

func main() {
	// Before cobra: stewards are started often, and must use little memory.
	if len(os.Args) > 1 && os.Args[1] == "steward" {
		os.Exit(steward.Main(os.Args[2:]))
	}
	os.Exit(cli.Execute(rootCommand(), os.Args[1:]))
}

// rootCommand returns scored with all its commands.
func rootCommand() *cobra.Command {
	root := cli.Root()
	root.AddCommand(daemon.Commands()...)
	if cert, _, err := root.Find([]string{"cert"}); err == nil {
		cert.AddCommand(daemon.RenewCommand())
	}
	if snapshot, _, err := root.Find([]string{"snapshot"}); err == nil {
		snapshot.AddCommand(daemon.RestoreCommand())
	}
	if server, _, err := root.Find([]string{"server"}); err == nil {
		server.AddCommand(cli.ServerCommands()...)
	}
	root.AddCommand(manCommand(root))
	cli.AddCompletion(root)
	return root
}
