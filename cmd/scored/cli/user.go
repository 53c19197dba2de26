package cli

import (
	"errors"
	"fmt"
	"io"
	"math"
	"score/cmd/cmdline"
	"score/scored/api/plural"
	"score/scored/api/scorev1"
	"score/scored/client"
	"slices"
	"strconv"
	"strings"
	"time"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"
)

func userCommand(c *caller) *cobra.Command {
	return parent("user", "list users, and set their roles, shares and limits",
		userListCommand(c), userShowCommand(c), userSetCommand(c))
}

func listUsers(command *cobra.Command, daemon *client.Client, name string) ([]*scorev1.User, error) {
	reply, err := daemon.Cluster.ListUsers(command.Context(), connect.NewRequest(&scorev1.ListUsersRequest{User: name}))
	if err != nil {
		return nil, err
	}
	return reply.Msg.GetUsers(), nil
}

func userListCommand(c *caller) *cobra.Command {
	var asJSON bool
	command := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "list the users and what they have used",
		Long: `Lists the users who are configured or have used the cluster, their jobs and their
usage. CPU TIME: CPU time of their ranks. HELD: CPUs of their jobs times the time that
these were on. RECENT: HELD with decay, by half in each usage_half_life of 'scored
config'. POINTS: added to the priority of their jobs for unused share. Operators see all
users, others themselves.`,
		Args: cmdline.NoArgs,
		RunE: c.with(func(command *cobra.Command, _ []string, daemon *client.Client) error {
			users, err := listUsers(command, daemon, "")
			if err != nil {
				return err
			}
			if asJSON {
				return printUsersJSON(command.OutOrStdout(), users)
			}
			return printUsers(command.OutOrStdout(), users)
		}),
	}
	AddJSON(command, &asJSON)
	return command
}

func printUsers(out io.Writer, users []*scorev1.User) error {
	t := newTable(out, "USER", "ROLE", "SHARE", "JOBS", "RUNNING", "CPUS", "CPU TIME", "HELD", "RECENT", "POINTS")
	for _, u := range users {
		t.row(u.GetName(), roleWord(u.GetRole()), strconv.Itoa(int(u.GetShare())),
			strconv.Itoa(int(u.GetJobs())), strconv.Itoa(int(u.GetRunning())), strconv.Itoa(int(u.GetCpus())),
			microTime(u.GetCpuMicros()), microTime(u.GetHeldMicros()), microTime(u.GetRecentMicros()), strconv.Itoa(int(u.GetPoints())))
	}
	return t.flush()
}

// microTime shows microseconds of CPUs for people.
func microTime(micros uint64) string {
	return shortTime(time.Duration(min(micros, math.MaxInt64/1000)) * time.Microsecond)
}

func userShowCommand(c *caller) *cobra.Command {
	var asJSON bool
	command := &cobra.Command{
		Use:               "show USER",
		Short:             "show a user's role, share, limits and usage",
		Args:              needs(1, "one user"),
		ValidArgsFunction: c.completeUsers,
		RunE: c.with(func(command *cobra.Command, arguments []string, daemon *client.Client) error {
			users, err := listUsers(command, daemon, arguments[0])
			if err != nil {
				return err
			}
			if asJSON {
				return printUsersJSON(command.OutOrStdout(), users)
			}
			return printUser(command.OutOrStdout(), users[0])
		}),
	}
	AddJSON(command, &asJSON)
	return command
}

func printUser(out io.Writer, u *scorev1.User) error {
	t := newTable(out)
	t.row("user", fmt.Sprintf("%s (%d)", u.GetName(), u.GetUid()))
	for _, field := range userFields {
		t.row(field.title(), field.show(u))
	}
	t.row("jobs", fmt.Sprintf("%d, of which %s on %s; %s ended", u.GetJobs(), plural.Of(u.GetRunning(), "runs", "run"),
		plural.Of(u.GetCpus(), "CPU", "CPUs"), plural.Of(u.GetJobsEnded(), "has", "have")))
	t.row("CPU time", microTime(u.GetCpuMicros()))
	t.row("held", microTime(u.GetHeldMicros())+" of CPUs, recently "+microTime(u.GetRecentMicros()))
	t.row("points", strconv.Itoa(int(u.GetPoints())))
	return t.flush()
}

func userSetCommand(c *caller) *cobra.Command {
	var asJSON bool
	command := &cobra.Command{
		Use:               "set USER NAME=VALUE...",
		Short:             "set a user's role, share and limits",
		Long:              "Sets one or more of a user's properties at once; " + none + " takes a limit away:\n\n" + userFieldsHelp(),
		Example:           "  scored user set ann share=200 cpus=64 time=12h\n  scored user set bob role=operator",
		Args:              cobra.ArbitraryArgs,
		ValidArgsFunction: c.completeUsers,
		RunE: func(command *cobra.Command, arguments []string) error {
			if len(arguments) < 2 {
				return errors.New("name a user and what to set, as in: scored user set ann share=200 cpus=64")
			}
			request := &scorev1.SetUserRequest{User: arguments[0], Values: &scorev1.User{Limits: &scorev1.UserLimits{}}}
			for _, argument := range arguments[1:] {
				key, value, _ := strings.Cut(argument, "=")
				field, err := findUserField(key)
				if err != nil {
					return err
				}
				if slices.Contains(request.GetFields(), key) {
					return fmt.Errorf("%s is given twice", key)
				}
				if err := field.read(request.GetValues(), value); err != nil {
					return fmt.Errorf("%s %q: %w", key, value, err)
				}
				request.Fields = append(request.Fields, key)
			}
			return c.with(func(command *cobra.Command, _ []string, daemon *client.Client) error {
				reply, err := daemon.Cluster.SetUser(command.Context(), connect.NewRequest(request))
				if err != nil || !asJSON {
					return err
				}
				return printUsersJSON(command.OutOrStdout(), []*scorev1.User{reply.Msg.GetUser()})
			})(command, arguments)
		},
	}
	AddJSON(command, &asJSON)
	return command
}
