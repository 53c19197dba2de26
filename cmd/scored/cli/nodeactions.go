package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"score/cmd/cmdline"
	"score/scored/api/scorev1"
	"score/scored/client"
	"time"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"
)

// drainPoll is the interval at which the command asks whether drained nodes are empty.
const drainPoll = 250 * time.Millisecond

func nodeDrainCommand(c *caller) *cobra.Command {
	var reason string
	var requeue, wait, asJSON bool
	var timeout time.Duration
	command := &cobra.Command{
		Use:   "drain NODE...",
		Short: "start no new jobs on nodes, and wait until the running ones have ended",
		Long: `Starts no new jobs on the nodes, as before a repair. Running jobs continue to their end
(--wait). With --requeue, jobs that were submitted with --requeue go back into the
queue; the others continue to their end.

The command returns when the nodes have no jobs left, after --timeout (0: at once), or
when it is interrupted; the nodes stay drained in any case. 'scored node show' lists the
jobs that are left, and 'scored node resume' lets the nodes run new jobs again.

` + nodesHelp,
		Example: `  scored node drain n3 --reason "new disk"
  scored node drain n1 n2 --requeue --timeout 10m
  scored node drain "n[1-16,20]"`,
		Args:              needs(0, "the nodes to drain"),
		ValidArgsFunction: c.completeNodeNames(0),
		RunE: c.withNodes(func(command *cobra.Command, names []string, daemon *client.Client) error {
			var drained []string
			failed := eachNode(names, func(name string) error {
				request := &scorev1.DrainNodeRequest{Node: name, Reason: reason, Requeue: requeue}
				_, err := daemon.Cluster.DrainNode(command.Context(), connect.NewRequest(request))
				if err == nil {
					drained = append(drained, name)
				}
				return err
			})
			if len(drained) == 0 {
				return failed
			}
			ctx, cancel := command.Context(), context.CancelFunc(func() {})
			if command.Flags().Changed("timeout") {
				ctx, cancel = context.WithTimeout(ctx, timeout)
			}
			defer cancel()
			list, err := awaitEmpty(ctx, command, daemon, drained)
			show := func() error { return printNodesJSON(command.OutOrStdout(), nodesIn(list, drained)) }
			return withDone(asJSON && list != nil, show, bothErrors(failed, err))
		}),
	}
	command.Flags().StringVar(&reason, "reason", "", "`text` that says why, shown by 'scored node list' and 'scored job explain'")
	command.Flags().BoolVar(&requeue, "requeue", false, "put jobs that were submitted with --requeue back into the queue")
	command.Flags().BoolVar(&wait, "wait", false, "let running jobs continue to their end (the default)")
	addSpan(command.Flags(), &timeout, "timeout", "", "longest `time` to wait for the jobs (default: no limit)")
	command.MarkFlagsMutuallyExclusive("requeue", "wait")
	AddJSON(command, &asJSON)
	return command
}

// nodesHelp explains the nodes of a command.
const nodesHelp = `NODE is a name or a list of names: n1,n2 or "n[1-4,7]".`

// parseNodes returns the names in lists of nodes, each once.
func parseNodes(lists []string) ([]string, error) {
	var set cmdline.NodeSet
	for _, list := range lists {
		if err := set.Add(list); err != nil {
			return nil, fmt.Errorf("nodes %q: %w", list, err)
		}
	}
	return set.Nodes, nil
}

// withNodes is like with, for a command whose arguments are nodes or lists of nodes. call gets each
// name once.
func (c *caller) withNodes(call func(command *cobra.Command, names []string, daemon *client.Client) error) func(*cobra.Command, []string) error {
	return func(command *cobra.Command, arguments []string) error {
		names, err := parseNodes(arguments)
		if err != nil {
			return err
		}
		return c.with(func(command *cobra.Command, _ []string, daemon *client.Client) error {
			return call(command, names, daemon)
		})(command, arguments)
	}
}

// awaitEmpty waits until the nodes have no jobs. If ctx ends first, its error names the jobs that
// are left. It returns the last list of nodes.
func awaitEmpty(ctx context.Context, command *cobra.Command, daemon *client.Client, names []string) (*scorev1.ListNodesResponse, error) {
	shown := ""
	for {
		list, err := listNodes(command, daemon)
		if err != nil {
			return nil, err
		}
		left := jobsLeft(list, names)
		if left == "" {
			return list, nil
		}
		if shown == "" {
			fmt.Fprintf(command.ErrOrStderr(), "scored: waiting for jobs: %s\n", left)
		}
		shown = left
		timer := time.NewTimer(drainPoll)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			if errors.Is(ctx.Err(), context.DeadlineExceeded) {
				return list, fmt.Errorf("the nodes are drained, and still have jobs: %s", left)
			}
			return list, ctx.Err()
		}
	}
}

// nodesIn returns the nodes of a list that have one of the names.
func nodesIn(list *scorev1.ListNodesResponse, names []string) (found []*scorev1.Node) {
	for _, name := range names {
		if node := nodeIn(list, name); node != nil {
			found = append(found, node)
		}
	}
	return found
}

// jobsLeft lists the jobs of the nodes: "n1: 3 4, n2: 4". A node that is gone has none.
func jobsLeft(list *scorev1.ListNodesResponse, names []string) string {
	left := ""
	for _, name := range names {
		if ids := nodeIn(list, name).GetJobIds(); len(ids) > 0 {
			if left != "" {
				left += ", "
			}
			left += name + ": " + jobWords(ids)
		}
	}
	return left
}

func nodeResumeCommand(c *caller) *cobra.Command {
	var asJSON bool
	command := &cobra.Command{
		Use:               "resume NODE...",
		Short:             "let drained nodes run new jobs again",
		Long:              "Lets drained nodes run new jobs again. " + nodesHelp,
		Example:           `  scored node resume "n[1-16,20]"`,
		Args:              needs(0, "the nodes to resume"),
		ValidArgsFunction: c.completeNodeNames(0),
		RunE: c.withNodes(func(command *cobra.Command, names []string, daemon *client.Client) error {
			var resumed []*scorev1.Node
			err := eachNode(names, func(name string) error {
				reply, err := daemon.Cluster.ResumeNode(command.Context(), connect.NewRequest(&scorev1.ResumeNodeRequest{Node: name}))
				if err == nil {
					resumed = append(resumed, reply.Msg.GetNode())
				}
				return err
			})
			return withDone(asJSON, func() error { return printNodesJSON(command.OutOrStdout(), resumed) }, err)
		}),
	}
	AddJSON(command, &asJSON)
	return command
}

// removedNode is a node that was removed, as --json prints it.
type removedNode struct {
	Name    string `json:"name"`
	Revoked uint32 `json:"certificates_revoked"`
}

func nodeRemoveCommand(c *caller) *cobra.Command {
	var asJSON bool
	command := &cobra.Command{
		Use:   "remove NODE...",
		Short: "remove nodes without jobs from the cluster and revoke their certificates",
		Long: `Removes nodes from the cluster for good. A node must have no jobs: drain it first, or
wait until it is lost. Its certificates are revoked and its agent ends. To come back
it must join with a new token.

` + nodesHelp,
		Args:              needs(0, "the nodes to remove"),
		ValidArgsFunction: c.completeNodeNames(0),
		RunE: c.withNodes(func(command *cobra.Command, names []string, daemon *client.Client) error {
			removed := []removedNode{}
			err := eachNode(names, func(name string) error {
				reply, err := daemon.Cluster.RemoveNode(command.Context(), connect.NewRequest(&scorev1.RemoveNodeRequest{Node: name}))
				if err != nil {
					return err
				}
				removed = append(removed, removedNode{name, reply.Msg.GetRevoked()})
				if !asJSON {
					printNodeRemoved(command.ErrOrStderr(), name, reply.Msg.GetRevoked())
				}
				return nil
			})
			return withDone(asJSON, func() error {
				return printJSON(command.OutOrStdout(), struct {
					Removed []removedNode `json:"removed"`
				}{removed})
			}, err)
		}),
	}
	AddJSON(command, &asJSON)
	return command
}

func printNodeRemoved(out io.Writer, name string, revoked uint32) {
	certificates := "its certificate was revoked"
	switch {
	case revoked == 0:
		certificates = "it had no certificate"
	case revoked > 1:
		certificates = fmt.Sprintf("its %d certificates were revoked", revoked)
	}
	fmt.Fprintf(out, "scored: node %s was removed; %s\n", name, certificates)
}

// withDone prints for programs what was done, even if err is set because something failed. It joins
// err with the error of printing.
func withDone(asJSON bool, show func() error, err error) error {
	if !asJSON {
		return err
	}
	return errors.Join(show(), err)
}

// bothErrors returns one error with the sentences of both; each may be nil.
func bothErrors(first, second error) error {
	if first == nil || second == nil {
		return cmp.Or(first, second)
	}
	return joinSentences([]error{first, second})
}

// eachNode calls act for every node. It goes on after errors and returns them all.
func eachNode(names []string, act func(name string) error) error {
	var failures []error
	for _, name := range names {
		if err := act(name); err != nil {
			failures = append(failures, errors.New(client.Sentence(err)))
		}
	}
	return joinSentences(failures)
}
