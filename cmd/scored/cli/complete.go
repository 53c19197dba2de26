package cli

import (
	"context"
	"fmt"
	"time"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	"score/scored/api/scorev1"
)

// completeTimeout bounds how long a shell waits for a list of jobs: without a
// daemon there is none, and nobody wants to be told so between two keys.
const completeTimeout = 500 * time.Millisecond

// maxCompleted is how many jobs are offered, the latest: more than anybody reads.
const maxCompleted = 500

// completeJobs offers the numbers of jobs, of which most can be given, from the
// argument number from on; 0: any number. Jobs that have ended are offered where
// ended is true.
func (c *caller) completeJobs(from, most int, ended bool) cobra.CompletionFunc {
	return func(command *cobra.Command, arguments []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(arguments) < from || most > 0 && len(arguments) >= from+most {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		given := make(map[string]bool, len(arguments))
		for _, argument := range arguments {
			given[argument] = true
		}
		var found []cobra.Completion
		for _, job := range c.jobsInTime(command, ended) {
			if id := fmt.Sprint(job.GetId()); !given[id] {
				found = append(found, cobra.CompletionWithDesc(id, completionOf(job)))
			}
		}
		return found, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	}
}

// jobsInTime asks for the jobs; when something goes wrong, those that came are all.
func (c *caller) jobsInTime(command *cobra.Command, ended bool) []*scorev1.Job {
	ctx, cancel := context.WithTimeout(command.Context(), completeTimeout)
	defer cancel()
	command.SetContext(ctx)
	daemon, err := c.dial(command)
	if err != nil {
		return nil
	}
	defer daemon.Close()
	var jobs []*scorev1.Job
	for job, err := range daemon.ListJobs(ctx, &scorev1.ListJobsRequest{All: ended, Limit: maxCompleted}) {
		if err != nil {
			return jobs
		}
		jobs = append(jobs, job)
	}
	return jobs
}

func completionOf(job *scorev1.Job) string {
	return fmt.Sprintf("%s of %s, %s", printable(job.GetSpec().GetName()), userName(job), stateWord(job.GetState()))
}

// completeNodes offers the names of the nodes; whatever goes wrong, there are none.
func (c *caller) completeNodes(command *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	ctx, cancel := context.WithTimeout(command.Context(), completeTimeout)
	defer cancel()
	command.SetContext(ctx)
	daemon, err := c.dial(command)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	defer daemon.Close()
	list, err := listNodes(command, daemon)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	names := make([]cobra.Completion, 0, len(list.GetNodes()))
	for _, node := range list.GetNodes() {
		names = append(names, cobra.CompletionWithDesc(node.GetName(), nodeWord(node)))
	}
	return names, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}

// completeServers offers the servers as the one argument.
func (c *caller) completeServers(command *cobra.Command, arguments []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(arguments) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	ctx, cancel := context.WithTimeout(command.Context(), completeTimeout)
	defer cancel()
	command.SetContext(ctx)
	daemon, err := c.dial(command)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	defer daemon.Close()
	reply, err := daemon.Cluster.ListServers(ctx, connect.NewRequest(&scorev1.ListServersRequest{}))
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	names := make([]cobra.Completion, 0, len(reply.Msg.GetServers()))
	for _, s := range reply.Msg.GetServers() {
		names = append(names, cobra.CompletionWithDesc(s.GetName(), serverRole(s)))
	}
	return names, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}

// completeNodeNames offers the nodes as arguments, of which most can be given; 0: any number.
func (c *caller) completeNodeNames(most int) cobra.CompletionFunc {
	return func(command *cobra.Command, arguments []string, text string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if most > 0 && len(arguments) >= most {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return c.completeNodes(command, arguments, text)
	}
}

// completeUsers offers the names of users, then what can be set of one; whatever
// goes wrong, there are none.
func (c *caller) completeUsers(command *cobra.Command, arguments []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(arguments) > 0 {
		if command.Name() != "set" {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		fields := make([]cobra.Completion, 0, len(userFields))
		for _, field := range userFields {
			fields = append(fields, cobra.CompletionWithDesc(field.key+"=", field.about))
		}
		return fields, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
	return c.userNames(command), cobra.ShellCompDirectiveNoFileComp
}
