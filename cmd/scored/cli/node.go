package cli

import (
	"fmt"
	"io"
	"strconv"
	"time"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	"score/scored/api/scorev1"
	"score/scored/client"
)

func nodeCommand(c *caller) *cobra.Command {
	return parent("node", "list and show nodes", nodeListCommand(c), nodeShowCommand(c))
}

// nodeData is a node as --json prints it.
type nodeData struct {
	Name             string   `json:"name"`
	Address          string   `json:"address"`
	Up               bool     `json:"up"`
	Version          string   `json:"version"`
	CPUs             uint32   `json:"cpus"`
	SharesCPUs       bool     `json:"shares_cpus"`
	MemoryBytes      uint64   `json:"memory_bytes"`
	MemoryUsedBytes  uint64   `json:"memory_used_bytes"`
	Channels         uint32   `json:"channels"`
	ChannelsUsed     uint32   `json:"channels_used"`
	Jobs             uint32   `json:"jobs"`
	ClockOffsetNanos int64    `json:"clock_offset_nanos"`
	ClockErrorNanos  int64    `json:"clock_error_nanos"`
	RoundTripNanos   int64    `json:"round_trip_nanos"`
	Notes            []string `json:"notes"`
}

func newNodeData(node *scorev1.Node) nodeData {
	return nodeData{
		Name: node.GetName(), Address: node.GetAddress(), Up: node.GetUp(), Version: node.GetVersion(),
		CPUs: node.GetCpus(), SharesCPUs: node.GetSharesCpus(),
		MemoryBytes: node.GetMemoryBytes(), MemoryUsedBytes: node.GetMemoryUsedBytes(), Jobs: node.GetJobs(),
		Channels: node.GetChannels(), ChannelsUsed: node.GetChannelsUsed(),
		ClockOffsetNanos: node.GetClockOffsetNanos(), ClockErrorNanos: node.GetClockErrorNanos(),
		RoundTripNanos: node.GetRoundTripNanos(), Notes: nonNil(node.GetNotes()),
	}
}

func listNodes(command *cobra.Command, daemon *client.Client) ([]*scorev1.Node, error) {
	reply, err := daemon.Cluster.ListNodes(command.Context(), connect.NewRequest(&scorev1.ListNodesRequest{}))
	if err != nil {
		return nil, err
	}
	return reply.Msg.GetNodes(), nil
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
		Args:    cobra.NoArgs,
		RunE: c.with(func(command *cobra.Command, _ []string, daemon *client.Client) error {
			nodes, err := listNodes(command, daemon)
			if err != nil {
				return err
			}
			if asJSON {
				return printNodesJSON(command.OutOrStdout(), nodes)
			}
			return printNodes(command.OutOrStdout(), nodes)
		}),
	}
	addJSON(command, &asJSON)
	return command
}

func printNodesJSON(out io.Writer, nodes []*scorev1.Node) error {
	list := make([]nodeData, 0, len(nodes))
	for _, node := range nodes {
		list = append(list, newNodeData(node))
	}
	return printJSON(out, struct {
		Schema int        `json:"schema"`
		Nodes  []nodeData `json:"nodes"`
	}{schema, list})
}

func printNodes(out io.Writer, nodes []*scorev1.Node) error {
	t := newTable(out, "NAME", "STATE", "CPUS", "MEMORY", "PROMISED", "CHANNELS", "JOBS", "ADDRESS")
	for _, node := range nodes {
		t.row(node.GetName(), upWord(node), cpuWord(node), shortBytes(node.GetMemoryBytes()),
			shortBytes(node.GetMemoryUsedBytes()), fmt.Sprintf("%d/%d", node.GetChannelsUsed(), node.GetChannels()), strconv.Itoa(int(node.GetJobs())), node.GetAddress())
	}
	return t.flush()
}

func upWord(node *scorev1.Node) string {
	if node.GetUp() {
		return "up"
	}
	return "down"
}

func cpuWord(node *scorev1.Node) string {
	if node.GetSharesCpus() {
		return fmt.Sprintf("%d (shared)", node.GetCpus())
	}
	return strconv.Itoa(int(node.GetCpus()))
}

// channelsUsed tells how many of a node's channels jobs may open: the most in one row.
func channelsUsed(node *scorev1.Node) string {
	if node.GetChannelsUsed() == 0 {
		return "none is given to a job"
	}
	return fmt.Sprintf("%d are given to jobs that run together", node.GetChannelsUsed())
}

func nodeShowCommand(c *caller) *cobra.Command {
	var asJSON bool
	command := &cobra.Command{
		Use:   "show NODE",
		Short: "show a node, its clock, and what it lacks",
		Args:  needs(1, "one node"),
		RunE: c.with(func(command *cobra.Command, arguments []string, daemon *client.Client) error {
			nodes, err := listNodes(command, daemon)
			if err != nil {
				return err
			}
			for _, node := range nodes {
				if node.GetName() != arguments[0] {
					continue
				}
				if asJSON {
					return printNodeJSON(command.OutOrStdout(), node)
				}
				return printNode(command.OutOrStdout(), node)
			}
			return unknownNode(arguments[0])
		}),
	}
	addJSON(command, &asJSON)
	return command
}

func printNodeJSON(out io.Writer, node *scorev1.Node) error {
	return printJSON(out, struct {
		Schema int      `json:"schema"`
		Node   nodeData `json:"node"`
	}{schema, newNodeData(node)})
}

func printNode(out io.Writer, node *scorev1.Node) error {
	t := newTable(out)
	t.row("node", node.GetName())
	t.row("state", upWord(node))
	t.row("address", node.GetAddress())
	t.row("version", node.GetVersion())
	t.row("CPUs", cpuWord(node))
	t.row("memory", fmt.Sprintf("%s, of which %s promised to jobs", shortBytes(node.GetMemoryBytes()), shortBytes(node.GetMemoryUsedBytes())))
	t.row("channels", fmt.Sprintf("%d at a time, of which %s", node.GetChannels(), channelsUsed(node)))
	t.row("jobs", strconv.Itoa(int(node.GetJobs())))
	t.row("clock", fmt.Sprintf("known to %s, round trip %s",
		shortTime(time.Duration(node.GetClockErrorNanos())), shortTime(time.Duration(node.GetRoundTripNanos()))))
	for _, note := range node.GetNotes() {
		t.row("note", printable(note))
	}
	return t.flush()
}
