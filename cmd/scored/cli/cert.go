package cli

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"score/cmd/cmdline"
	"score/scored/api/identity/pki"
	"score/scored/api/scorev1"
	"score/scored/client"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"
)

func certCommand(c *caller) *cobra.Command {
	return parent("cert", "list, renew and revoke the certificates of daemons", certListCommand(c), certRevokeCommand(c))
}

func certListCommand(c *caller) *cobra.Command {
	var asJSON bool
	command := &cobra.Command{
		Use:   "list",
		Short: "list the certificates of the daemons that have joined",
		Args:  cmdline.NoArgs,
		RunE: c.with(func(command *cobra.Command, _ []string, daemon *client.Client) error {
			reply, err := daemon.Cluster.ListCertificates(command.Context(), connect.NewRequest(&scorev1.ListCertificatesRequest{}))
			if err != nil {
				return err
			}
			return printCertificates(command.OutOrStdout(), reply.Msg.GetCertificates(), asJSON)
		}),
	}
	AddJSON(command, &asJSON)
	return command
}

// certificateData is a certificate as --json shows it.
type certificateData struct {
	Serial       string `json:"serial"`
	Role         string `json:"role"`
	Name         string `json:"name"`
	ExpiresNanos int64  `json:"expires_nanos"`
	Revoked      bool   `json:"revoked"`
}

func certificateDataOf(c *scorev1.DaemonCertificate) certificateData {
	return certificateData{hex.EncodeToString(c.GetSerial()), c.GetRole(), c.GetName(), c.GetExpiresNanos(), c.GetRevoked()}
}

func printCertificates(out io.Writer, certificates []*scorev1.DaemonCertificate, asJSON bool) error {
	if asJSON {
		return printJSONList(out, "certificates", certificates, certificateDataOf)
	}
	t := newTable(out, "ROLE", "NAME", "EXPIRES", "STATE", "SERIAL")
	for _, c := range certificates {
		state := "good"
		if c.GetRevoked() {
			state = "revoked"
		}
		t.row(c.GetRole(), c.GetName(), instant(c.GetExpiresNanos()), state, hex.EncodeToString(c.GetSerial()))
	}
	return t.flush()
}

// PrintCertificate prints a daemon's own certificate for programs.
func PrintCertificate(out io.Writer, own *pki.Credentials) error {
	name := own.Name()
	return printJSON(out, struct {
		Certificate certificateData `json:"certificate"`
	}{certificateData{hex.EncodeToString(own.Serial()), string(name.Role), name.Name, own.Expires().UnixNano(), false}})
}

func certRevokeCommand(c *caller) *cobra.Command {
	var asJSON bool
	command := &cobra.Command{
		Use:   "revoke ROLE NAME",
		Short: "revoke all certificates of a daemon and close its connections",
		Long: `Revokes all certificates of a daemon. No daemon of the cluster accepts it any more; to
come back it must join with a new token. To remove a server from the cluster use 'scored
server remove', which revokes its certificates, too.`,
		Example:           "  scored cert revoke agent node7",
		ValidArgsFunction: c.completeCertificates,
		Args: func(_ *cobra.Command, arguments []string) error {
			if len(arguments) != 2 {
				return errors.New("name the role and the name of a daemon, as in: scored cert revoke agent node7")
			}
			return nil
		},
		RunE: c.with(func(command *cobra.Command, arguments []string, daemon *client.Client) error {
			reply, err := daemon.Cluster.RevokeCertificates(
				command.Context(),
				connect.NewRequest(&scorev1.RevokeCertificatesRequest{Role: arguments[0], Name: arguments[1]}),
			)
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(command.OutOrStdout(), struct {
					Role    string `json:"role"`
					Name    string `json:"name"`
					Revoked uint32 `json:"certificates_revoked"`
				}{arguments[0], arguments[1], reply.Msg.GetRevoked()})
			}
			_, err = fmt.Fprintf(command.OutOrStdout(), "revoked: %d\n", reply.Msg.GetRevoked())
			return err
		}),
	}
	AddJSON(command, &asJSON)
	return command
}
