package cli

import (
	"context"
	"fmt"
	"score/cmd/cmdline"
	"score/scored/api/scorev1"
	"score/scored/api/scorev1/scorev1connect"
	"score/scored/client"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"
)

// ServerCommands returns the subcommands of "server", which list, add and remove the cluster's
// servers.
func ServerCommands() []*cobra.Command {
	c := new(caller)
	return []*cobra.Command{serverListCommand(c), serverRemoveCommand(c), serverStepDownCommand(c)}
}

func serverListCommand(c *caller) *cobra.Command {
	var asJSON bool
	command := &cobra.Command{
		Use:   "list",
		Short: "list the servers of the cluster",
		Long: `Lists the servers of the cluster. Their health is as the leader sees it:

  healthy               nothing is wrong
  unreachable for 12s   it does not answer the leader
  no answer about its disk
                        it answers the leader's heartbeats but no calls: it hangs
  slow, answers take 150ms
                        average answer to a heartbeat; an election may follow
  behind 1200           it lacks this many entries of the leader's log
  disk slow, 1.2s       the longest write of the log in the last two minutes
  disk nearly full, 80M free
                        a server that cannot write ends`,
		Args: cmdline.NoArgs,
		RunE: c.with(func(command *cobra.Command, _ []string, daemon *client.Client) error {
			reply, err := daemon.Cluster.ListServers(command.Context(), connect.NewRequest(&scorev1.ListServersRequest{}))
			if err != nil {
				return err
			}
			if asJSON {
				return printJSONList(command.OutOrStdout(), "servers", reply.Msg.GetServers(), serverDataOf)
			}
			t := newTable(command.OutOrStdout(), "SERVER", "ADDRESS", "ROLE", "HEALTH", "VERSION", "PROTOCOLS")
			for _, s := range reply.Msg.GetServers() {
				t.row(s.GetName(), s.GetAddress(), serverRole(s), serverHealth(s), orDash(s.GetProgram().GetBuild()), protocolWord(s.GetProgram()))
			}
			return t.flush()
		}),
	}
	AddJSON(command, &asJSON)
	return command
}

func protocolWord(p *scorev1.ProgramVersion) string {
	if p.GetProtocolNewest() == 0 {
		return "-"
	}
	return fmt.Sprintf("%d-%d", p.GetProtocolOldest(), p.GetProtocolNewest())
}

func serverRole(s *scorev1.Server) string {
	switch {
	case s.GetLeader():
		return "leader"
	case s.GetVoter():
		return "follower"
	default:
		return "newcomer" // it gets the log, and a vote when it has it
	}
}

func serverRemoveCommand(c *caller) *cobra.Command {
	command := &cobra.Command{
		Use:   "remove NAME",
		Short: "remove a server from the cluster for good",
		Long: `Removes a server from the cluster and revokes its certificates. The server ends if it
runs. If it leads, another server takes over first. The command is refused if the
remaining servers would have no majority.`,
		Args:              needs(1, "one server"),
		ValidArgsFunction: c.completeServers,
	}
	return c.withRemoval(command, func(ctx context.Context, cluster scorev1connect.ClusterServiceClient, name string) error {
		_, err := cluster.RemoveServer(ctx, connect.NewRequest(&scorev1.RemoveServerRequest{Name: name}))
		return err
	})
}

// withRemoval completes a command that removes what its argument names. With --json it prints the
// name.
func (c *caller) withRemoval(
	command *cobra.Command, remove func(ctx context.Context, cluster scorev1connect.ClusterServiceClient, name string) error,
) *cobra.Command {
	var asJSON bool
	command.RunE = c.with(func(command *cobra.Command, arguments []string, daemon *client.Client) error {
		err := remove(command.Context(), daemon.Cluster, arguments[0])
		if err != nil || !asJSON {
			return err
		}
		return printJSON(command.OutOrStdout(), struct {
			Removed string `json:"removed"`
		}{arguments[0]})
	})
	AddJSON(command, &asJSON)
	return command
}

func serverStepDownCommand(c *caller) *cobra.Command {
	var asJSON bool
	command := &cobra.Command{
		Use:   "step-down",
		Short: "make another server lead, before the leader is stopped",
		Args:  cmdline.NoArgs,
		RunE: c.with(func(command *cobra.Command, _ []string, daemon *client.Client) error {
			reply, err := daemon.Cluster.StepDown(command.Context(), connect.NewRequest(&scorev1.StepDownRequest{}))
			if err != nil {
				return err
			}
			leader := reply.Msg.GetLeader()
			if asJSON {
				return printJSON(command.OutOrStdout(), struct {
					Leader string `json:"leader"`
				}{leader})
			}
			if leader == "" {
				leader = "none yet; see 'scored server list'"
			}
			_, err = fmt.Fprintln(command.OutOrStdout(), "leader:", leader)
			return err
		}),
	}
	AddJSON(command, &asJSON)
	return command
}
