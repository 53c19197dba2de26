package cli

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"score/scored/api/identity/pki"
	"score/scored/api/quote"
	"score/scored/api/scorev1"
	"score/scored/client"
	"slices"
	"time"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"
)

// completeTimeout bounds how long a shell waits for a list. After it there is none, since a user
// who presses Tab wants no error message.
const completeTimeout = 500 * time.Millisecond

// maxCompleted bounds the jobs that are offered. It is more than anybody reads.
const maxCompleted = 500

// inTime asks a daemon for the words that a shell offers. On an error it returns the words that
// came until then.
func (c *caller) inTime(command *cobra.Command, ask func(context.Context, *client.Client) []cobra.Completion) []cobra.Completion {
	ctx, cancel := context.WithTimeout(command.Context(), completeTimeout)
	defer cancel()
	command.SetContext(ctx)
	daemon, err := c.dialIn(client.WithPatience(ctx, client.Patience{}), command)
	if err != nil {
		return nil
	}
	defer daemon.Close()
	return ask(ctx, daemon)
}

// offered selects the jobs that a completion offers.
type offered bool

const (
	unfinishedJobs offered = false
	allJobs        offered = true // also those that have ended
)

// completeJob completes one job number, the first argument or an option's value.
func (c *caller) completeJob(which offered) cobra.CompletionFunc {
	return c.completeJobsFrom(0, 1, which)
}

// completeJobs completes any number of job numbers.
func (c *caller) completeJobs(which offered) cobra.CompletionFunc {
	return c.completeJobsFrom(0, math.MaxInt, which)
}

// completeJobsFrom completes job numbers as the arguments from first to last, which is not
// included.
func (c *caller) completeJobsFrom(first, last int, which offered) cobra.CompletionFunc {
	return func(command *cobra.Command, arguments []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(arguments) < first || len(arguments) >= last {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		given := make(map[string]bool, len(arguments))
		for _, argument := range arguments {
			given[argument] = true
		}
		return c.inTime(command, func(ctx context.Context, daemon *client.Client) (found []cobra.Completion) {
			for _, job := range latestJobs(ctx, daemon, which) {
				if id := fmt.Sprint(job.GetId()); !given[id] {
					found = append(found, cobra.CompletionWithDesc(id, completionOf(job)))
				}
			}
			return found
		}), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	}
}

// latestJobs returns the jobs that came in time: those that have not ended, then the others; of
// both the latest first, as they are the ones that users ask about.
func latestJobs(ctx context.Context, daemon *client.Client, which offered) (jobs []*scorev1.Job) {
	for job, err := range daemon.ListJobs(ctx, &scorev1.ListJobsRequest{All: bool(which), Limit: maxCompleted}) {
		if err != nil {
			break
		}
		jobs = append(jobs, job)
	}
	done := func(job *scorev1.Job) int {
		if job.GetState() == scorev1.JobState_JOB_STATE_DONE {
			return 1
		}
		return 0
	}
	slices.SortFunc(jobs, func(a, b *scorev1.Job) int {
		return cmp.Or(cmp.Compare(done(a), done(b)), cmp.Compare(b.GetId(), a.GetId()))
	})
	return jobs
}

func completionOf(job *scorev1.Job) string {
	return fmt.Sprintf("%s of %s, %s", quote.Word(job.GetSpec().GetName()), userName(job), stateWord(job.GetState()))
}

// completeNodes offers the names of the nodes.
func (c *caller) completeNodes(command *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return c.inTime(command, func(_ context.Context, daemon *client.Client) (names []cobra.Completion) {
		list, _ := listNodes(command, daemon)
		for _, node := range list.GetNodes() {
			names = append(names, cobra.CompletionWithDesc(node.GetName(), nodeWord(node)))
		}
		return names
	}), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}

// completeServers offers the servers as the one argument.
func (c *caller) completeServers(command *cobra.Command, arguments []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(arguments) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return c.inTime(command, func(ctx context.Context, daemon *client.Client) (names []cobra.Completion) {
		reply, err := daemon.Cluster.ListServers(ctx, connect.NewRequest(&scorev1.ListServersRequest{}))
		if err != nil {
			return nil
		}
		for _, s := range reply.Msg.GetServers() {
			names = append(names, cobra.CompletionWithDesc(s.GetName(), serverRole(s)))
		}
		return names
	}), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}

// completeNodeNames completes node names, for at most `limit` arguments; 0: any number.
func (c *caller) completeNodeNames(limit int) cobra.CompletionFunc {
	return func(command *cobra.Command, arguments []string, text string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if limit > 0 && len(arguments) >= limit {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return c.completeNodes(command, arguments, text)
	}
}

// completeUsers offers the names of users, then what can be set of one.
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

// completeRole offers the roles of daemons.
var completeRole = cobra.FixedCompletions([]cobra.Completion{string(pki.Agent), string(pki.Server)}, cobra.ShellCompDirectiveNoFileComp)

// CompleteRole makes shells offer the roles of daemons for a command's flag --role.
func CompleteRole(command *cobra.Command) {
	_ = command.RegisterFlagCompletionFunc("role", completeRole) // it fails without the flag
}

// completeCertificates offers the roles of daemons, then the names of the role's daemons with a
// valid certificate.
func (c *caller) completeCertificates(command *cobra.Command, arguments []string, text string) ([]cobra.Completion, cobra.ShellCompDirective) {
	switch len(arguments) {
	case 0:
		return completeRole(command, arguments, text)
	case 1:
		return c.inTime(command, func(ctx context.Context, daemon *client.Client) (names []cobra.Completion) {
			reply, err := daemon.Cluster.ListCertificates(ctx, connect.NewRequest(&scorev1.ListCertificatesRequest{}))
			if err != nil {
				return nil
			}
			for _, one := range reply.Msg.GetCertificates() {
				if one.GetRole() == arguments[0] && !one.GetRevoked() && !slices.Contains(names, one.GetName()) {
					names = append(names, one.GetName())
				}
			}
			return names
		}), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	default:
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
}

// completeTokens offers the tokens as the one argument.
func (c *caller) completeTokens(command *cobra.Command, arguments []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(arguments) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return c.inTime(command, func(ctx context.Context, daemon *client.Client) (ids []cobra.Completion) {
		reply, err := daemon.Cluster.ListTokens(ctx, connect.NewRequest(&scorev1.ListTokensRequest{}))
		if err != nil {
			return nil
		}
		for _, t := range reply.Msg.GetTokens() {
			ids = append(ids, cobra.CompletionWithDesc(t.GetId(), t.GetRole()))
		}
		return ids
	}), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}
