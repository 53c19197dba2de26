package daemon

import (
	"errors"
	"fmt"
	"io"
	"score/cmd/cmdline"
	"score/scored/replica"
	"strings"

	"github.com/spf13/cobra"
)

// errConsent is returned without --yes: nothing was changed.
var errConsent = errors.New("nothing was changed; if that is what you want, give --yes")

// recoverCommand returns the command that makes the last server a cluster of its own.
func recoverCommand() *cobra.Command {
	var path string
	var yes bool
	command := &cobra.Command{
		Use:   "recover",
		Short: "make the stopped server of this host the only one of its cluster",
		Long: `When a majority of a cluster's servers is lost for good, the remaining ones cannot decide
anything. This command makes the server of this host, which must not run, the only one.
It continues from what its own disk holds.

Entries that only the lost servers have are lost, although they were acknowledged: the
latest submissions, and how some jobs ended. If several servers are left, choose the one
with the last entry: without --yes the command only shows it. Never start a lost server
again with its old data; let it join again with an empty data directory.

Running jobs continue: their agents connect to the recovered server.`,
		Args: cmdline.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			c, err := loadConfig(path)
			if err != nil {
				return err
			}
			place, err := placeOf(c)
			if err != nil {
				return err
			}
			return recoverServer(command.OutOrStdout(), place, yes)
		},
	}
	addConfig(command, &path)
	command.Flags().BoolVar(&yes, "yes", false, "do it; without this option, only show what is on the disk")
	return command
}

func recoverServer(out io.Writer, place replica.OfflineServer, yes bool) error {
	err := replica.Recover(place, func(found replica.Survey) bool {
		lost := make([]string, 0, len(found.Servers))
		for _, s := range found.Servers {
			if s.Name != place.Name {
				lost = append(lost, s.Name)
			}
		}
		fmt.Fprintf(out, "%s holds the state up to entry %d. The cluster's other servers are %s.\n", place.Dir, found.Entry, strings.Join(lost, ", "))
		fmt.Fprintf(out, "WARNING: what only they have is lost, though it was acknowledged. They must never run again with their old data.\n")
		return yes
	})
	if err != nil {
		return err
	}
	if !yes {
		return errConsent
	}
	fmt.Fprintf(out, "Server %s is the only one of its cluster. Start it; then let the others join again, with empty data directories.\n", place.Name)
	return nil
}
