package cli

import (
	"context"
	"fmt"
	"io"
	"score/cmd/cmdline"
	"score/scored/api/identity/pki"
	"score/scored/api/scorev1"
	"score/scored/api/scorev1/scorev1connect"
	"score/scored/client"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"
)

func tokenCommand(c *caller) *cobra.Command {
	return parent("token", "create, list and revoke the tokens with which daemons join",
		tokenCreateCommand(c), tokenListCommand(c), tokenRemoveCommand(c))
}

func tokenCreateCommand(c *caller) *cobra.Command {
	var role string
	life := pki.DefaultTokenLife
	var asJSON bool
	command := &cobra.Command{
		Use:   "create",
		Short: "create a token with which one daemon can join",
		Long: `Creates a token with which one daemon can join the cluster once, until the token
expires. Only the token goes to standard output, so it can be piped:

  scored token create | ssh node1 scored join -

Whoever has the token can join: treat it as a password.`,
		Args: cmdline.NoArgs,
		RunE: c.with(func(command *cobra.Command, _ []string, daemon *client.Client) error {
			reply, err := daemon.Cluster.CreateToken(
				command.Context(),
				connect.NewRequest(&scorev1.CreateTokenRequest{Role: role, LifeNanos: life.Nanoseconds()}),
			)
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(command.OutOrStdout(), struct {
					Token string    `json:"token"`
					About tokenData `json:"about"`
				}{reply.Msg.GetToken(), tokenDataOf(reply.Msg.GetAbout())})
			}
			fmt.Fprintf(
				command.ErrOrStderr(),
				"scored: token %s for one %s, until %s\n",
				reply.Msg.GetAbout().GetId(),
				role,
				instant(reply.Msg.GetAbout().GetExpiresNanos()),
			)
			_, err = fmt.Fprintln(command.OutOrStdout(), reply.Msg.GetToken())
			return err
		}),
	}
	command.Flags().StringVar(&role, "role", string(pki.Agent), "`role` of the daemon that joins, agent or server")
	CompleteRole(command)
	addSpan(command.Flags(), &life, "for", "", "`time` for which the token can be used")
	AddJSON(command, &asJSON)
	return command
}

// tokenData is a token as --json shows it.
type tokenData struct {
	ID           string `json:"id"`
	Role         string `json:"role"`
	ExpiresNanos int64  `json:"expires_nanos"`
	MadeBy       string `json:"made_by"`
}

func tokenDataOf(t *scorev1.JoinToken) tokenData {
	return tokenData{ID: t.GetId(), Role: t.GetRole(), ExpiresNanos: t.GetExpiresNanos(), MadeBy: t.GetMadeBy()}
}

func tokenListCommand(c *caller) *cobra.Command {
	var asJSON bool
	command := &cobra.Command{
		Use:   "list",
		Short: "list the tokens that can be used",
		Args:  cmdline.NoArgs,
		RunE: c.with(func(command *cobra.Command, _ []string, daemon *client.Client) error {
			reply, err := daemon.Cluster.ListTokens(command.Context(), connect.NewRequest(&scorev1.ListTokensRequest{}))
			if err != nil {
				return err
			}
			return printTokens(command.OutOrStdout(), reply.Msg.GetTokens(), asJSON)
		}),
	}
	AddJSON(command, &asJSON)
	return command
}

func printTokens(out io.Writer, tokens []*scorev1.JoinToken, asJSON bool) error {
	if asJSON {
		return printJSONList(out, "tokens", tokens, tokenDataOf)
	}
	t := newTable(out, "TOKEN", "ROLE", "EXPIRES", "MADE BY")
	for _, token := range tokens {
		t.row(token.GetId(), token.GetRole(), instant(token.GetExpiresNanos()), token.GetMadeBy())
	}
	return t.flush()
}

func tokenRemoveCommand(c *caller) *cobra.Command {
	command := &cobra.Command{
		Use:               "remove ID",
		Aliases:           []string{"revoke"}, // as for certificates
		Short:             "revoke a token",
		Args:              needs(1, "one token"),
		ValidArgsFunction: c.completeTokens,
	}
	return c.withRemoval(command, func(ctx context.Context, cluster scorev1connect.ClusterServiceClient, name string) error {
		_, err := cluster.RemoveToken(ctx, connect.NewRequest(&scorev1.RemoveTokenRequest{Id: name}))
		return err
	})
}
