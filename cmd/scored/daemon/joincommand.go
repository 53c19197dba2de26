package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"score/cmd/scored/config"
	"score/scored/api/identity/pki"
	"score/scored/api/quote"

	"github.com/spf13/cobra"
)

// joinPlan is the command line of join.
type joinPlan struct {
	text, config, name string
}

func joinCommand() *cobra.Command {
	var p joinPlan
	command := &cobra.Command{
		Use:   "join TOKEN",
		Short: "make this host's agent or server a member of a cluster, and start nothing",
		Long: `Makes the agent or the server of this host a member of a cluster: it gets a
certificate, with the servers' addresses beside it, and a host without configuration
gets one. Then the command ends. The token names the cluster and the daemon; - reads
it from standard input, where other users do not see it.

  scored token create | ssh host2 scored join -
  ssh host2 systemctl enable --now score-agent

  scored token create --role server | ssh host2 scored join -
  ssh host2 systemctl enable --now score-server

A server counts among the cluster's servers after its first start. A daemon that has
joined before does not use the token, unless its certificate is damaged or has
expired. 'scored agent --join' and 'scored server --join' join and then run the daemon.`,
		Args: func(_ *cobra.Command, arguments []string) error {
			if len(arguments) != 1 {
				return errors.New("name one token, or - to read it; 'scored token create' on a server prints one")
			}
			return nil
		},
		RunE: func(command *cobra.Command, arguments []string) error {
			p.text = arguments[0]
			ctx, stop := untilStopped(command.Context())
			defer stop()
			return p.run(ctx, command.InOrStdin(), command.OutOrStdout(), command.ErrOrStderr())
		},
	}
	addConfig(command, &p.config)
	command.Flags().StringVar(&p.name, "name", "", "the daemon's `name` (default: the one in the file, else the host's)")
	return command
}

// run joins the cluster, and prints how to start the daemon.
func (p joinPlan) run(ctx context.Context, in io.Reader, out, diagnostics io.Writer) error {
	c, err := joiningConfig(p.config, p.text)
	if err != nil {
		return err
	}
	token, err := readToken(p.text, in)
	if err != nil {
		return err
	}
	own := agentRole
	if token.Role == pki.Server {
		own = serverRole
	}
	flags := ""
	if named := namedConfig(p.config); named != "" {
		flags = " --config " + shellWord(named)
	}
	if p.setName(&c, own) {
		flags += " --name " + shellWord(p.name)
	}
	if _, err := (joining{config: p.config, role: own}).admit(ctx, c, token, diagnostics); err != nil {
		return err
	}
	fmt.Fprintf(out, "Next: start it with %s.\n", quote.Text(startLine(own.pki, flags)))
	return nil
}

// setName sets the daemon's name, and reports whether the daemon must be started with it, since a
// configuration that sets keys stays as it is.
func (p joinPlan) setName(c *config.Config, own role) (needed bool) {
	name := &c.Agent.Name
	if own.pki == pki.Server {
		name = &c.Server.Name
	}
	if p.name == "" || p.name == *name {
		return false
	}
	*name = p.name
	return !config.Unset(configPath(p.config))
}

// startLine returns the command that starts a daemon that has joined. The units read the default
// configuration.
func startLine(role pki.Role, flags string) string {
	if flags == "" {
		return fmt.Sprintf("'systemctl enable --now score-%s' or 'scored %s'", role, role)
	}
	return fmt.Sprintf("'scored %s%s'", role, flags)
}
