package daemon

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"score/scored/replica"
)

// errConsent: nothing was done, as it was not wanted for certain.
var errConsent = errors.New("nothing was changed; if that is what you want, give --yes")

// recoverCommand makes the one server that is left a cluster again.
func recoverCommand() *cobra.Command {
	var path string
	var yes bool
	command := &cobra.Command{
		Use:   "recover",
		Short: "make the server of this host, which must not run, the only one of its cluster",
		Long: `When most servers of a cluster are lost for good, those that are left cannot decide
anything: nobody knows whether the others have decided otherwise. This command makes the
server of this host the only one; it goes on from what its own disk holds.

What was acknowledged and is on the lost servers alone is lost: jobs that were submitted
last, and how others ended. If several servers are left, choose the one that has the last
entry: without --yes the command only tells which that is. Servers that were lost must
never be started again with their old data; join them anew, with empty data directories.

Running jobs are not touched: agents go on with them, and obey the recovered server.`,
		Args: cobra.NoArgs,
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
	command.Flags().BoolVar(&yes, "yes", false, "do it; without, only tell what is there")
	return command
}

func recoverServer(out io.Writer, place replica.Place, yes bool) error {
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
	fmt.Fprintf(out, "Server %s is the only one of its cluster. Start it; then have others join anew, with empty data directories.\n", place.Name)
	return nil
}
