package cli

import (
	"context"
	"errors"
	"maps"
	"score/cmd/cmdline"
	"score/scored/api/scorev1"
	"score/scored/client"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// listFlags are the flags of commands that list jobs.
type listFlags struct {
	user, since string
	states      []string
	limit       uint32
	asJSON      bool
}

// add adds the flags to a command. words are the words of --state.
func (f *listFlags) add(c *caller, command *cobra.Command, since, state string, words []string) {
	flags := command.Flags()
	flags.StringVarP(&f.user, "user", "u", "", "jobs of this `user` only, by name or number")
	flags.StringSliceVarP(&f.states, "state", "s", nil, state+" (`words`, with commas between them): "+strings.Join(words, ", "))
	flags.StringVar(&f.since, "since", "", since+" at this `time` or later: a time ago (90m, 2d), a day (2006-01-02), or 2006-01-02T15:04:05")
	flags.Uint32VarP(&f.limit, "limit", "n", 0, "only the latest ones, at most this `number`")
	AddJSON(command, &f.asJSON)
	// These fail only for flags that do not exist.
	_ = command.RegisterFlagCompletionFunc("state", completeWords(words))
	_ = command.RegisterFlagCompletionFunc("user", c.completeUserFlag)
	for _, flag := range []string{"since", "limit"} {
		_ = command.RegisterFlagCompletionFunc(flag, cobra.NoFileCompletions)
	}
}

// completeWords offers words that can be given one after the other, with commas between them.
func completeWords(words []string) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, text string) ([]cobra.Completion, cobra.ShellCompDirective) {
		given := text[:strings.LastIndexByte(text, ',')+1]
		offered := make([]cobra.Completion, 0, len(words))
		for _, word := range words {
			offered = append(offered, given+word)
		}
		return offered, cobra.ShellCompDirectiveNoFileComp
	}
}

// completeUserFlag offers the users that the cluster knows of.
func (c *caller) completeUserFlag(command *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return c.userNames(command), cobra.ShellCompDirectiveNoFileComp
}

// sinceNanos reads a time ago, a day or an instant of local time.
func sinceNanos(text string, now time.Time) (int64, error) {
	if text == "" {
		return 0, nil
	}
	if ago, err := cmdline.ParseSpan(text); err == nil {
		return now.Add(-ago).UnixNano(), nil
	}
	for _, layout := range []string{time.DateOnly, time.DateTime, "2006-01-02T15:04:05"} {
		if at, err := time.ParseInLocation(layout, text, time.Local); err == nil {
			return at.UnixNano(), nil
		}
	}
	return 0, errors.New("--since " + strconv.Quote(text) + ": write a time ago as in 90m or 2d, a day as in 2026-01-31, or 2026-01-31T12:00:00")
}

// stateWords returns the words of --state, and their values.
func stateWords[T ~int32](names map[int32]string, prefix string) (words []string, values map[string]T) {
	values = make(map[string]T)
	for _, number := range slices.Sorted(maps.Keys(names)) {
		if number == 0 {
			continue
		}
		word := strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(names[number], prefix)), "_", "-")
		words, values[word] = append(words, word), T(number)
	}
	return words, values
}

var (
	jobStates, jobStateOf   = stateWords[scorev1.JobState](scorev1.JobState_name, "JOB_STATE_")
	endReasons, endReasonOf = stateWords[scorev1.EndReason](scorev1.EndReason_name, "END_REASON_")
)

// readStates reads the words of --state. It also reads words with a space, as the table shows them.
func readStates[T any](given, words []string, values map[string]T) ([]T, error) {
	var states []T
	for _, text := range given {
		value, known := values[strings.ReplaceAll(strings.ToLower(strings.TrimSpace(text)), " ", "-")]
		if !known {
			return nil, errors.New("--state " + strconv.Quote(text) + ": it is " + strings.Join(words, ", ") + cmdline.Hint(text, words))
		}
		states = append(states, value)
	}
	return states, nil
}

// historyRequest returns the request for finished jobs that the options describe.
func (f *listFlags) historyRequest(now time.Time) (*scorev1.GetHistoryRequest, error) {
	since, err := sinceNanos(f.since, now)
	if err != nil {
		return nil, err
	}
	reasons, err := readStates(f.states, endReasons, endReasonOf)
	return &scorev1.GetHistoryRequest{User: f.user, SinceNanos: since, Limit: f.limit, Reasons: reasons}, err
}

// listRequest returns the request for all jobs that the options describe. An option about finished
// jobs includes them.
func (f *listFlags) listRequest(all bool, now time.Time) (*scorev1.ListJobsRequest, error) {
	since, err := sinceNanos(f.since, now)
	if err != nil {
		return nil, err
	}
	states, err := readStates(f.states, jobStates, jobStateOf)
	return &scorev1.ListJobsRequest{
		All: all || slices.Contains(states, scorev1.JobState_JOB_STATE_DONE), User: f.user,
		SinceNanos: since, Limit: f.limit, States: states,
	}, err
}

// userNames returns the users that the cluster knows of.
func (c *caller) userNames(command *cobra.Command) []cobra.Completion {
	return c.inTime(command, func(_ context.Context, daemon *client.Client) (names []cobra.Completion) {
		users, _ := listUsers(command, daemon, "")
		for _, u := range users {
			names = append(names, u.GetName())
		}
		return names
	})
}
