package cli

import (
	"errors"
	"fmt"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	"score/scored/api"
	"score/scored/api/scorev1"
	"score/scored/client"
)

// versionData is what scored version prints.
type versionData struct {
	Schema  int    `json:"schema"`
	Program string `json:"program"`
	Cluster string `json:"cluster,omitempty"`
	Daemon  string `json:"daemon,omitempty"`
}

func versionCommand(c *caller) *cobra.Command {
	var asJSON bool
	command := &cobra.Command{
		Use:   "version",
		Short: "print the version of this program and of the cluster's daemon",
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			data := versionData{Schema: schema, Program: api.Version()}
			if err := c.askVersion(command, &data); err != nil && !errors.Is(err, client.ErrNoCluster) {
				return err
			}
			if asJSON {
				return printJSON(command.OutOrStdout(), data)
			}
			fmt.Fprintln(command.OutOrStdout(), "scored", data.Program)
			if data.Daemon != "" {
				fmt.Fprintf(command.OutOrStdout(), "daemon %s, cluster %s\n", data.Daemon, data.Cluster)
			}
			return nil
		},
	}
	addJSON(command, &asJSON)
	return command
}

func (c *caller) askVersion(command *cobra.Command, data *versionData) error {
	return c.with(func(command *cobra.Command, _ []string, daemon *client.Client) error {
		reply, err := daemon.Cluster.GetVersion(command.Context(), connect.NewRequest(&scorev1.GetVersionRequest{}))
		if err != nil {
			return err
		}
		data.Cluster, data.Daemon = reply.Msg.GetCluster(), reply.Msg.GetVersion()
		return nil
	})(command, nil)
}
