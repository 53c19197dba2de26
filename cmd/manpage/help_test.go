package manpage

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
)

func TestHelp(t *testing.T) {
	run := func(*cobra.Command, []string) {}
	root := &cobra.Command{Use: "tool", Short: "do things", Run: run}
	root.PersistentFlags().String("cluster", "", "the `socket` of a cluster, which may be on another host than this one")
	root.AddGroup(&cobra.Group{ID: "first", Title: "First:"})
	child := &cobra.Command{
		Use: "work THING", Short: "do one thing", Run: run, GroupID: "first", Aliases: []string{"w"}, Example: "  tool work x",
		Long: "A paragraph whose lines are\nfilled, since together they are longer than a line of the help can be.\n\n" +
			"  key     the text of a table, which is as long, and stays in its column on the next line\n  second  short\n          the text of a line below its term, which is as long, and stays in its column too\n",
	}
	child.Flags().Duration("every", time.Second, "the `time` between")
	child.Flags().String("role", "agent", "the `role` of a daemon that joins, which is agent or server")
	root.AddCommand(child, &cobra.Command{Use: "other", Short: "do another", Run: run}, &cobra.Command{Use: "hidden", Hidden: true, Run: run})
	const ofRoot = `Do things.

Usage:
  tool
  tool COMMAND [arguments]

First:
  work   do one thing

Commands:
  other  do another

'tool COMMAND --help' explains one of them.

Options:
      --cluster socket   the socket of a cluster, which may be on another
                         host than this one
`
	if diff := cmp.Diff(ofRoot, Help(root)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	const ofChild = `A paragraph whose lines are filled, since together they are longer than a line
of the help can be.

  key     the text of a table, which is as long, and stays in its column on the
          next line
  second  short
          the text of a line below its term, which is as long, and stays in its
          column too

Usage:
  tool work THING [options]

Also called: w

Examples:
  tool work x

Options:
      --every time   the time between (default: 1s)
      --role role    the role of a daemon that joins, which is agent or
                     server (default: agent)

Options of all commands:
      --cluster socket   the socket of a cluster, which may be on another
                         host than this one
`
	if diff := cmp.Diff(ofChild, Help(child)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
