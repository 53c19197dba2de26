package daemon

import (
	"context"
	"errors"
	"fmt"
	"score/cmd/cmdline"
	"score/cmd/scored/cli"
	"score/cmd/scored/config"
	"score/scored/api/agentpb"
	"score/scored/api/agentpb/agentpbconnect"
	"score/scored/api/identity/pki"
	"score/scored/api/transport/h2"
	"time"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"
)

// renewTimeout bounds a request to one server.
const renewTimeout = 30 * time.Second

// RenewCommand returns the command that renews a daemon's certificate from outside the daemon.
// It belongs below cert.
func RenewCommand() *cobra.Command {
	var path, role, name string
	var asJSON bool
	command := &cobra.Command{
		Use:   "renew",
		Short: "renew the certificate of a daemon of this host now",
		Long: `Asks a server for the next certificate of a daemon of this host. Daemons do so by
themselves a month before their certificate expires. A running daemon uses the new
certificate within a minute.`,
		Args: cmdline.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			c, err := loadConfig(path)
			if err != nil {
				return err
			}
			own, dir, err := ownCredentials(c, role, name)
			if err != nil {
				return err
			}
			ask := func(ctx context.Context, request []byte) ([]byte, error) {
				return askServers(ctx, serverAddresses(c, dir), own, request)
			}
			if err := own.RenewNow(command.Context(), dir, ask); err != nil {
				return err
			}
			if asJSON {
				return cli.PrintCertificate(command.OutOrStdout(), own)
			}
			_, err = fmt.Fprintf(command.OutOrStdout(), "%s: valid until %s\n", own.Name(), own.Expires().Local().Format(time.DateTime))
			return err
		},
	}
	addConfig(command, &path)
	command.Flags().StringVar(&role, "role", string(pki.Agent), "`role` of the daemon, agent or server")
	cli.CompleteRole(command)
	command.Flags().StringVar(&name, "name", "", "`name` of the node or server (default: the configured one)")
	cli.AddJSON(command, &asJSON)
	return command
}

func ownCredentials(c config.Config, role, name string) (*pki.Credentials, string, error) {
	parsed, err := pki.ParseRole(role)
	if err != nil {
		return nil, "", err
	}
	if name == "" {
		named := agentName
		if parsed == pki.Server {
			named = serverName
		}
		if name, err = named(c); err != nil {
			return nil, "", err
		}
	}
	own, dir, err := credentials(c.Cluster, parsed, name)
	if own == nil && err == nil {
		err = errors.New("this cluster has no certificates: cluster.certificates is not set")
	}
	return own, dir, err
}

// askServers asks the servers one after the other.
func askServers(ctx context.Context, servers []string, own *pki.Credentials, request []byte) ([]byte, error) {
	plain := h2.NewClient(own, pki.Server)
	plain.Timeout = renewTimeout
	defer plain.CloseIdleConnections()
	var errs []error
	for _, url := range serverURLs(servers) {
		client := agentpbconnect.NewAgentServiceClient(plain, url)
		ask := connect.NewRequest(&agentpb.RenewCertificateRequest{Request: request})
		answer, err := client.RenewCertificate(ctx, ask)
		if err == nil {
			return answer.Msg.GetCertificate(), nil
		}
		errs = append(errs, err)
	}
	return nil, errors.Join(errs...)
}
