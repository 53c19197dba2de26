package daemon

import (
	"errors"
	"fmt"
	"io"
	"score/cmd/scored/cli"
	"score/cmd/scored/config"
	"score/scored/replica"
	"time"

	"github.com/spf13/cobra"
)

// RestoreCommand returns the command that starts a cluster from a saved snapshot. It belongs below
// snapshot.
func RestoreCommand() *cobra.Command {
	var path string
	var asJSON bool
	command := &cobra.Command{
		Use:   "restore FILE",
		Short: "restore a saved snapshot into an empty data directory of this host",
		Long: `Fills the empty data directory of this host's server, which must not run, with the state
in a file of 'scored snapshot save'. The server that is started next is the only one of
the cluster; other servers join it again, with empty data directories.

Use it if the state of the cluster is lost. What happened after the file was saved is
forgotten: the nodes end jobs that were submitted later, jobs that ended later are
reported as lost, new jobs get much higher numbers, unused tokens are invalid, and
certificates that were revoked later must be revoked again. No other server with the
old state may run.`,
		Args: func(_ *cobra.Command, arguments []string) error {
			if len(arguments) != 1 {
				return errors.New("name the file")
			}
			return nil
		},
		RunE: func(command *cobra.Command, arguments []string) error {
			c, err := loadConfig(path)
			if err != nil {
				return err
			}
			return restore(command.OutOrStdout(), c, arguments[0], asJSON)
		},
	}
	addConfig(command, &path)
	cli.AddJSON(command, &asJSON)
	return command
}

func restore(out io.Writer, c config.Config, file string, asJSON bool) error {
	saved, err := cli.ReadSaved(file)
	if err != nil {
		return err
	}
	if saved.Cluster != c.Cluster.Name {
		return fmt.Errorf("%s is of the cluster %.63q, and this host is of %q; set cluster.name, or choose another file", file, saved.Cluster, c.Cluster.Name)
	}
	place, err := placeOf(c)
	if err != nil {
		return err
	}
	if err := replica.Bootstrap(place, saved.State, saved.Term); err != nil {
		return err
	}
	if asJSON {
		return saved.PrintRestored(out, file, place.Dir)
	}
	fmt.Fprintf(out, "%s holds the state of %s. Start the server; then\n", place.Dir, time.Unix(0, saved.SavedNanos).Format(time.DateTime))
	fmt.Fprintf(out, "  - revoke again what was revoked since ('scored cert list', 'scored cert revoke')\n")
	fmt.Fprintf(out, "  - let other servers join again, with empty data directories\n")
	return nil
}

// placeOf returns where the configured server keeps its state.
func placeOf(c config.Config) (replica.OfflineServer, error) {
	place := replica.OfflineServer{Dir: c.Server.DataDir}
	if c.Cluster.Certificates == "" {
		return place, nil
	}
	name, err := serverName(c)
	if err != nil {
		return place, err
	}
	place.Name, place.Address = name, c.Server.Advertise
	if place.Address == "" {
		place.Address = c.Server.AgentsListen
	}
	return place, nil
}
