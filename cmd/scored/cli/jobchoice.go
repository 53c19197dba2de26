package cli

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"score/scored/api/scorev1"
	"score/scored/client"
	"slices"
	"strconv"
	"strings"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"
)

// choiceHelp explains the options of a jobChoice.
const choiceHelp = "Instead of job numbers, --user, --state and --job-name can choose jobs that wait or run.\n" +
	"A job must match all that are given. Without --user, only your own jobs are chosen."

// doneWord is the word for jobs that have ended.
const doneWord = "done"

// unfinishedStates are the words of --state for jobs that have not ended, unfinishedStateOf their
// values.
var unfinishedStates, unfinishedStateOf = func() ([]string, map[string]scorev1.JobState) {
	words, values := slices.Clone(jobStates), maps.Clone(jobStateOf)
	delete(values, doneWord)
	return slices.DeleteFunc(words, func(word string) bool { return word == doneWord }), values
}()

// jobChoice are the flags of commands that do something to jobs. They choose jobs that wait or run.
type jobChoice struct {
	user, name string
	states     []string
	// latestFirst is the order in which act goes through the jobs, not as they were named.
	latestFirst bool
}

// jobChoiceFlags are the names of these flags.
var jobChoiceFlags = []string{"user", "state", "job-name"}

func (j *jobChoice) add(c *caller, command *cobra.Command) {
	flags := command.Flags()
	flags.StringVarP(&j.user, "user", "u", "", "jobs of this `user`, by name or number")
	flags.StringSliceVarP(&j.states, "state", "s", nil, "jobs in these states (`words`, with commas between them): "+strings.Join(unfinishedStates, ", "))
	flags.StringVarP(&j.name, "job-name", "J", "", "jobs of this `name`")
	// These fail only for flags that do not exist.
	_ = command.RegisterFlagCompletionFunc("user", c.completeUserFlag)
	_ = command.RegisterFlagCompletionFunc("state", completeWords(unfinishedStates))
	_ = command.RegisterFlagCompletionFunc("job-name", cobra.NoFileCompletions)
}

// chosen reports whether the command line has one of the flags.
func chosen(command *cobra.Command) bool {
	return slices.ContainsFunc(jobChoiceFlags, command.Flags().Changed)
}

// needsJobs returns a check of the arguments after the first `before`: jobs, or flags that choose
// some. what is what the command needs, for errors.
func needsJobs(before int, what string) cobra.PositionalArgs {
	return func(command *cobra.Command, arguments []string) error {
		jobs := len(arguments) - before
		switch {
		case jobs < 0, jobs == 0 && !chosen(command):
			return errors.New(what)
		case jobs > 0 && chosen(command):
			return errors.New("name jobs, or choose them by --user, --state and --job-name, not both")
		default:
			return nil
		}
	}
}

// act calls do for the jobs that are named, or for those that the flags choose among those in the
// states; none: any but done. It goes on after errors. If no job is chosen, it says so.
func (j *jobChoice) act(command *cobra.Command, named []string, daemon *client.Client, states []scorev1.JobState, do func(id uint64) error) error {
	ids, err := parseJobs(named)
	if chosen(command) {
		ids, err = j.find(command, daemon, states)
		do = unlessChanged(do)
	}
	if err != nil {
		return err
	}
	if len(ids) == 0 {
		_, err := fmt.Fprintln(command.ErrOrStderr(), "scored: there are no such jobs")
		return err
	}
	if j.latestFirst {
		slices.SortFunc(ids, func(a, b uint64) int { return cmp.Compare(b, a) })
	}
	return eachOf(ids, do)
}

// find returns the jobs that the flags choose.
func (j *jobChoice) find(command *cobra.Command, daemon *client.Client, states []scorev1.JobState) (ids []uint64, err error) {
	request, err := j.request(command, states)
	if err != nil {
		return nil, err
	}
	for job, err := range daemon.ListJobs(command.Context(), request) {
		if err != nil {
			return nil, err
		}
		if j.name == "" || job.GetSpec().GetName() == j.name {
			ids = append(ids, job.GetId())
		}
	}
	return ids, nil
}

// unlessChanged returns do without the errors of a job that is no longer what it was in a list.
func unlessChanged(do func(id uint64) error) func(id uint64) error {
	return func(id uint64) error {
		err := do(id)
		if code := connect.CodeOf(err); code == connect.CodeNotFound || code == connect.CodeFailedPrecondition {
			return nil
		}
		return err
	}
}

// request returns the request for the list of jobs.
func (j *jobChoice) request(command *cobra.Command, states []scorev1.JobState) (*scorev1.ListJobsRequest, error) {
	// An empty value is probably that of a variable which is not set.
	for _, name := range jobChoiceFlags {
		if flag := command.Flags().Lookup(name); flag.Changed && (flag.Value.String() == "" || flag.Value.String() == "[]") {
			return nil, fmt.Errorf("--%s is empty; leave it out, or give it a value", name)
		}
	}
	given, err := readStates(j.states, unfinishedStates, unfinishedStateOf)
	if err != nil {
		return nil, err
	}
	if len(given) > 0 {
		states = given
	}
	user := j.user
	if user == "" {
		user = strconv.Itoa(os.Getuid())
	}
	return &scorev1.ListJobsRequest{User: user, States: states}, nil
}
