package cli

import (
	"fmt"
	"score/cmd/cmdline"
	"score/scored/api/scorev1"
	"score/scored/client"
	"slices"
	"strings"

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
	var states []string
	command := &cobra.Command{
		Use:     "list [NODE...]",
		Aliases: []string{"ls"},
		Short:   "list the nodes",
		Long: `Lists the nodes: CPUs, memory, the memory that is promised to jobs (PROMISED), the
channels that jobs have of those there are (CHANNELS), the version of the agent, and why
a node is drained.

States: up; draining, it takes no new jobs and still has some; drained, it takes no new
jobs and has none; silent, it is not heard from, and its jobs continue for now; lost, it
was given up together with its jobs; revoked, its certificate is not accepted.

` + nodesHelp,
		Example: `  scored node list "n[1-16]"
  scored node list -s drained,lost`,
		Args:              cobra.ArbitraryArgs,
		ValidArgsFunction: c.completeNodeNames(0),
		RunE: c.withNodes(func(command *cobra.Command, names []string, daemon *client.Client) error {
			wanted, err := readStates(states, nodeStates, nodeStateOf)
			if err != nil {
				return err
			}
			list, err := listNodes(command, daemon)
			if err != nil {
				return err
			}
			nodes := list.GetNodes()
			if len(names) > 0 {
				nodes = nodesIn(list, names)
			}
			if len(states) > 0 {
				nodes = slices.DeleteFunc(nodes, func(node *scorev1.Node) bool { return !slices.Contains(wanted, node.GetState()) })
			}
			show := printNodes
			if asJSON {
				show = printNodesJSON
			}
			return bothErrors(show(command.OutOrStdout(), nodes), unknownNodes(list, names))
		}),
	}
	command.Flags().StringSliceVarP(
		&states,
		"state",
		"s",
		nil,
		"nodes in these states only (`words`, with commas between them): "+strings.Join(nodeStates, ", "),
	)
	_ = command.RegisterFlagCompletionFunc("state", completeWords(nodeStates)) // it fails only without the flag
	AddJSON(command, &asJSON)
	return command
}

// nodeStates are the words of --state, nodeStateOf their values.
var nodeStates, nodeStateOf = stateWords[scorev1.NodeState](scorev1.NodeState_name, "NODE_STATE_")

// unknownNodes returns an error for the names that a list does not have.
func unknownNodes(list *scorev1.ListNodesResponse, names []string) error {
	var unknown []string
	for _, name := range names {
		if nodeIn(list, name) == nil {
			unknown = append(unknown, name)
		}
	}
	switch len(unknown) {
	case 0:
		return nil
	case 1:
		return unknownNode(unknown[0])
	default:
		return fmt.Errorf("there are no nodes %s; 'scored node list' shows them", cmdline.FormatNodes(unknown))
	}
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
