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
			return printStaged(command.OutOrStdout(), command.ErrOrStderr(), reply.Msg, asJSON)
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
				return printStaged(command.OutOrStdout(), command.ErrOrStderr(), reply.Msg, true)
			}
			if len(reply.Msg.GetStaged()) > 0 {
				fmt.Fprintln(command.OutOrStdout(), "kept, since jobs need it:")
				return printStaged(command.OutOrStdout(), command.ErrOrStderr(), reply.Msg, false)
			}
			return silentNodes(command.ErrOrStderr(), reply.Msg)
		}),
	}
	command.Flags().StringVar(&node, "node", "", "files on this `node` only")
	_ = command.RegisterFlagCompletionFunc("node", c.completeNodes) // it was defined just now
	command.Flags().BoolVarP(&all, "all", "a", false, "files of all users (operators only)")
	AddJSON(command, &asJSON)
	return command
}

func printStaged(out, errors io.Writer, reply *scorev1.ListStagedResponse, asJSON bool) error {
	if asJSON {
		staged := []stagedData{}
		for _, s := range reply.GetStaged() {
			staged = append(staged, stagedData{s.GetNode(), s.GetUid(), s.GetUser(), s.GetFiles(), s.GetBytes(), s.GetHeld()})
		}
		return printJSON(out, struct {
			Schema int          `json:"schema"`
			Staged []stagedData `json:"staged"`
			Silent []string     `json:"silent"`
		}{schema, staged, nonNil(reply.GetSilent())})
	}
	t := newTable(out, "NODE", "USER", "FILES", "SIZE", "HELD")
	for _, s := range reply.GetStaged() {
		t.row(s.GetNode(), orDash(printable(s.GetUser())), strconv.Itoa(int(s.GetFiles())), shortBytes(s.GetBytes()), strconv.Itoa(int(s.GetHeld())))
	}
	if err := t.flush(); err != nil {
		return err
	}
	return silentNodes(errors, reply)
}

func silentNodes(errors io.Writer, reply *scorev1.ListStagedResponse) error {
	if len(reply.GetSilent()) > 0 {
		fmt.Fprintf(errors, "scored: no answer from %s\n", strings.Join(reply.GetSilent(), ", "))
	}
	return nil
}
