package cli

import (
	"fmt"
	"time"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	"score/scored/api/scorev1"
	"score/scored/client"
)

// ServerCommands tell of the cluster's servers and change which there are; they belong below the command server.
func ServerCommands() []*cobra.Command {
	c := new(caller)
	return []*cobra.Command{serverListCommand(c), serverRemoveCommand(c), serverStepDownCommand(c)}
}

// serverData is a server as --json shows it.
type serverData struct {
	Name        string `json:"name"`
	Address     string `json:"address"`
	Leader      bool   `json:"leader"`
	Voter       bool   `json:"voter"`
	SilentNanos int64  `json:"silent_nanos"`
}

func serverListCommand(c *caller) *cobra.Command {
	var asJSON bool
	command := &cobra.Command{
		Use:   "list",
		Short: "list the servers of the cluster",
		Args:  cobra.NoArgs,
		RunE: c.with(func(command *cobra.Command, _ []string, daemon *client.Client) error {
			reply, err := daemon.Cluster.ListServers(command.Context(), connect.NewRequest(&scorev1.ListServersRequest{}))
			if err != nil {
				return err
			}
			if asJSON {
				list := make([]serverData, 0, len(reply.Msg.GetServers()))
				for _, s := range reply.Msg.GetServers() {
					list = append(list, serverData{s.GetName(), s.GetAddress(), s.GetLeader(), s.GetVoter(), s.GetSilentNanos()})
				}
				return printJSON(command.OutOrStdout(), struct {
					Schema  int          `json:"schema"`
					Servers []serverData `json:"servers"`
				}{schema, list})
			}
			t := newTable(command.OutOrStdout(), "SERVER", "ADDRESS", "ROLE", "STATE")
			for _, s := range reply.Msg.GetServers() {
				t.row(s.GetName(), s.GetAddress(), serverRole(s), serverState(s))
			}
			return t.flush()
		}),
	}
	addJSON(command, &asJSON)
	return command
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

func serverState(s *scorev1.Server) string {
	if s.GetSilentNanos() == 0 {
		return "up"
	}
	return "silent for " + time.Duration(s.GetSilentNanos()).Round(time.Second).String()
}

func serverRemoveCommand(c *caller) *cobra.Command {
	return &cobra.Command{
		Use:   "remove NAME",
		Short: "take a server out of the cluster for good",
		Long: `Takes a server out of the cluster and takes back its certificates. The server ends,
if it runs. If it leads, another server leads first. It is refused where those that
would be left could decide nothing.`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: c.completeServers,
		RunE: c.with(func(command *cobra.Command, arguments []string, daemon *client.Client) error {
			_, err := daemon.Cluster.RemoveServer(command.Context(), connect.NewRequest(&scorev1.RemoveServerRequest{Name: arguments[0]}))
			return err
		}),
	}
}

func serverStepDownCommand(c *caller) *cobra.Command {
	var asJSON bool
	command := &cobra.Command{
		Use:   "step-down",
		Short: "have another server lead, before the one that leads is stopped",
		Args:  cobra.NoArgs,
		RunE: c.with(func(command *cobra.Command, _ []string, daemon *client.Client) error {
			reply, err := daemon.Cluster.StepDown(command.Context(), connect.NewRequest(&scorev1.StepDownRequest{}))
			if err != nil {
				return err
			}
			leader := reply.Msg.GetLeader()
			if asJSON {
				return printJSON(command.OutOrStdout(), struct {
					Schema int    `json:"schema"`
					Leader string `json:"leader"`
				}{schema, leader})
			}
			if leader == "" {
				leader = "nobody yet; see 'scored server list'"
			}
			_, err = fmt.Fprintln(command.OutOrStdout(), "leader:", leader)
			return err
		}),
	}
	addJSON(command, &asJSON)
	return command
}
