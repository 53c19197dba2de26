package cli

import (
	"fmt"
	"score/cmd/cmdline"
	"score/scored/api/scorev1"
	"score/scored/client"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"
)

func nodeCommand(c *caller) *cobra.Command {
	return parent("node", "list, show, drain, resume and remove nodes",
		nodeListCommand(c), nodeShowCommand(c), nodeDrainCommand(c), nodeResumeCommand(c), nodeRemoveCommand(c))
}

func listNodes(command *cobra.Command, daemon *client.Client) (*scorev1.ListNodesResponse, error) {
	reply, err := daemon.Cluster.ListNodes(command.Context(), connect.NewRequest(&scorev1.ListNodesRequest{}))
	if err != nil {
		return nil, err
	}
	return reply.Msg, nil
}

// nodeIn returns the node of this name in a list, or nil.
func nodeIn(list *scorev1.ListNodesResponse, name string) *scorev1.Node {
	for _, node := range list.GetNodes() {
		if node.GetName() == name {
			return node
		}
	}
	return nil
}

func unknownNode(name string) error {
	return fmt.Errorf("there is no node %q; 'scored node list' shows them", name)
}

func nodeListCommand(c *caller) *cobra.Command {
	var asJSON bool
	command := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "list the nodes",
		Long: `Lists the nodes: CPUs, memory, the memory that is promised to jobs (PROMISED), the
channels that jobs have of those there are (CHANNELS), the version of the agent, and why
a node is drained.

States: up; draining, it takes no new jobs and still has some; drained, it takes no new
jobs and has none; silent, it is not heard from, and its jobs continue for now; lost, it
was given up together with its jobs; revoked, its certificate is not accepted.`,
		Args: cmdline.NoArgs,
		RunE: c.with(func(command *cobra.Command, _ []string, daemon *client.Client) error {
			list, err := listNodes(command, daemon)
			if err != nil {
				return err
			}
			if asJSON {
				return printNodesJSON(command.OutOrStdout(), list.GetNodes())
			}
			return printNodes(command.OutOrStdout(), list.GetNodes())
		}),
	}
	AddJSON(command, &asJSON)
	return command
}

func nodeShowCommand(c *caller) *cobra.Command {
	var asJSON bool
	command := &cobra.Command{
		Use:   "show NODE",
		Short: "show a node: its jobs, its clock and what it lacks",
		Args:  needs(1, "one node"),

		ValidArgsFunction: c.completeNodeNames(1),
		RunE: c.with(func(command *cobra.Command, arguments []string, daemon *client.Client) error {
			list, err := listNodes(command, daemon)
			if err != nil {
				return err
			}
			node := nodeIn(list, arguments[0])
			switch {
			case node == nil:
				return unknownNode(arguments[0])
			case asJSON:
				return printNodeJSON(command.OutOrStdout(), node)
			default:
				return printNode(command.OutOrStdout(), node, list.GetNowNanos())
			}
		}),
	}
	AddJSON(command, &asJSON)
	return command
}
