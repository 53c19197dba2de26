package cli

import (
	"fmt"
	"io"
	"score/cmd/cmdline"
	"score/scored/api/scorev1"
	"score/scored/client"
	"strconv"
	"strings"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"
)

func stageCommand(c *caller) *cobra.Command {
	return parent("stage", "list and remove the files that nodes keep for jobs (scrun --stage)",
		stageListCommand(c), stageClearCommand(c))
}

// stagedData describes a user's files on a node, as --json prints it.
type stagedData struct {
	Node  string `json:"node"`
	UID   uint32 `json:"uid"`
	User  string `json:"user"`
	Files uint32 `json:"files"`
	Bytes uint64 `json:"bytes"`
	Held  uint32 `json:"held"`
}

func stageListCommand(c *caller) *cobra.Command {
	var asJSON, all bool
	var node string
	command := &cobra.Command{
		Use:   "list",
		Short: "list the staged files of each node",
		Long: `Lists how many staged files each node keeps, and their size. A file that a node still
has is not sent again. HELD are files that waiting or running jobs need. A node removes
the least recently used files first (agent.stage_limit).`,
		Args: cmdline.NoArgs,
		RunE: c.with(func(command *cobra.Command, _ []string, daemon *client.Client) error {
			reply, err := daemon.Jobs.ListStaged(command.Context(), connect.NewRequest(&scorev1.ListStagedRequest{Node: node, All: all}))
			if err != nil {
				return err
			}
			if asJSON {
				return printStagedJSON(command.OutOrStdout(), reply.Msg)
			}
			warnOfMissing(command.ErrOrStderr(), reply.Msg, "listed")
			return printStaged(command.OutOrStdout(), reply.Msg)
		}),
	}
	command.Flags().StringVar(&node, "node", "", "files on this `node` only")
	_ = command.RegisterFlagCompletionFunc("node", c.completeNodes) // it was defined just now
	command.Flags().BoolVarP(&all, "all", "a", false, "files of all users (operators only)")
	AddJSON(command, &asJSON)
	return command
}

func stageClearCommand(c *caller) *cobra.Command {
	var all, asJSON bool
	var node string
	command := &cobra.Command{
		Use:   "clear",
		Short: "remove staged files that no job needs",
		Long: `Removes staged files that no waiting or running job needs, and lists the rest as
'scored stage list' does.`,
		Args: cmdline.NoArgs,
		RunE: c.with(func(command *cobra.Command, _ []string, daemon *client.Client) error {
			reply, err := daemon.Jobs.ListStaged(command.Context(), connect.NewRequest(&scorev1.ListStagedRequest{Clear: true, Node: node, All: all}))
			if err != nil {
				return err
			}
			if asJSON {
				return printStagedJSON(command.OutOrStdout(), reply.Msg)
			}
			warnOfMissing(command.ErrOrStderr(), reply.Msg, "removed")
			if len(reply.Msg.GetStaged()) == 0 {
				return nil
			}
			fmt.Fprintln(command.OutOrStdout(), "kept, since jobs need it:")
			return printStaged(command.OutOrStdout(), reply.Msg)
		}),
	}
	command.Flags().StringVar(&node, "node", "", "files on this `node` only")
	_ = command.RegisterFlagCompletionFunc("node", c.completeNodes) // it was defined just now
	command.Flags().BoolVarP(&all, "all", "a", false, "files of all users (operators only)")
	AddJSON(command, &asJSON)
	return command
}

func printStaged(out io.Writer, reply *scorev1.ListStagedResponse) error {
	t := newTable(out, "NODE", "USER", "FILES", "SIZE", "HELD")
	for _, s := range reply.GetStaged() {
		t.row(s.GetNode(), orDash(s.GetUser()), strconv.Itoa(int(s.GetFiles())), shortBytes(s.GetBytes()), strconv.Itoa(int(s.GetHeld())))
	}
	return t.flush()
}

func printStagedJSON(out io.Writer, reply *scorev1.ListStagedResponse) error {
	staged := []stagedData{}
	for _, s := range reply.GetStaged() {
		staged = append(staged, stagedData{s.GetNode(), s.GetUid(), s.GetUser(), s.GetFiles(), s.GetBytes(), s.GetHeld()})
	}
	return printJSON(out, struct {
		Staged      []stagedData `json:"staged"`
		Silent      []string     `json:"silent"`
		Unconnected []string     `json:"unconnected"`
	}{staged, nonNil(reply.GetSilent()), nonNil(reply.GetUnconnected())})
}

// warnOfMissing names the nodes without a connection, whose files are not "listed" or "removed",
// and those that did not answer.
func warnOfMissing(errors io.Writer, reply *scorev1.ListStagedResponse, done string) {
	switch nodes := reply.GetUnconnected(); len(nodes) {
	case 0:
	case 1:
		fmt.Fprintf(errors, "scored: node %s is not connected: its files are not %s\n", nodes[0], done)
	default:
		fmt.Fprintf(errors, "scored: nodes %s are not connected: their files are not %s\n", strings.Join(nodes, ", "), done)
	}
	warnOfSilent(errors, reply.GetSilent())
}

// warnOfSilent names the nodes that have not answered.
func warnOfSilent(errors io.Writer, nodes []string) {
	if len(nodes) > 0 {
		fmt.Fprintf(errors, "scored: no answer from %s\n", strings.Join(nodes, ", "))
	}
}
