package cli

import (
	"errors"
	"fmt"
	"io"
	"score/cmd/cmdline"
	"score/scored/api"
	"score/scored/api/protocol"
	"score/scored/api/scorev1"
	"score/scored/client"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"
)

// versionData is the output of scored version.
type versionData struct {
	Program string `json:"program"`
	Cluster string `json:"cluster,omitempty"`
	Daemon  string `json:"daemon,omitempty"`
	// The protocols that this program understands, and the one of the cluster's log.
	ProtocolOldest uint32 `json:"protocol_oldest"`
	ProtocolNewest uint32 `json:"protocol_newest"`
	LogProtocol    uint32 `json:"log_protocol,omitempty"`
}

func versionCommand(c *caller) *cobra.Command {
	var asJSON bool
	command := &cobra.Command{
		Use:   "version",
		Short: "print the version of this program and of the cluster's daemon",
		Args:  cmdline.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			own := protocol.Own()
			data := versionData{Program: api.Version(), ProtocolOldest: own.Oldest, ProtocolNewest: own.Newest}
			if err := c.askVersion(command, &data); err != nil && !errors.Is(err, client.ErrNoCluster) {
				return err
			}
			if asJSON {
				return printJSON(command.OutOrStdout(), data)
			}
			text := fmt.Sprintf("scored %s, %s\n", data.Program, own)
			if data.Daemon != "" {
				text += fmt.Sprintf("server %s, cluster %s, log in protocol %d\n", data.Daemon, data.Cluster, max(data.LogProtocol, protocol.First))
			}
			_, err := io.WriteString(command.OutOrStdout(), text)
			return err
		},
	}
	AddJSON(command, &asJSON)
	return command
}

func (c *caller) askVersion(command *cobra.Command, data *versionData) error {
	return c.with(func(command *cobra.Command, _ []string, daemon *client.Client) error {
		reply, err := daemon.Cluster.GetVersion(command.Context(), connect.NewRequest(&scorev1.GetVersionRequest{}))
		if err != nil {
			return err
		}
		data.Cluster, data.Daemon = reply.Msg.GetCluster(), reply.Msg.GetVersion()
		data.LogProtocol = reply.Msg.GetProtocol()
		return nil
	})(command, nil)
}
