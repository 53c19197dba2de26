package cli

import (
	"errors"
	"fmt"
	"io"
	"math"
	"score/cmd/cmdline"
	"score/gang"
	"score/scored/api/scorev1"
	"score/scored/client"
	"slices"
	"strconv"
	"strings"
	"time"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"
	"google.golang.org/protobuf/proto"
)

func userCommand(c *caller) *cobra.Command {
	return parent("user", "list users, and set their roles, shares and limits",
		userListCommand(c), userShowCommand(c), userSetCommand(c))
}

// none is the word for no limit.
const none = "none"

// userField is a property of a user that can be set.
type userField struct {
	key   string // also its name in the request
	about string
	show  func(*scorev1.User) string
	read  func(*scorev1.User, string) error
}

// userFields is the table of all such properties.
var userFields = []userField{
	{
		key: "role", about: "user; operator (may do to everybody's jobs what their owners may); admin (may also change users and settings)",
		show: func(u *scorev1.User) string { return roleWord(u.GetRole()) },
		read: func(u *scorev1.User, text string) error {
			role := scorev1.Role_value["ROLE_"+strings.ToUpper(text)]
			if role == 0 || text != strings.ToLower(text) {
				return errors.New("it is user, operator or admin")
			}
			u.Role = scorev1.Role(role)
			return nil
		},
	},
	{
		key:   "share",
		about: "part of the cluster, beside the shares of the others (100 unless set): of the time that gangs which share CPUs take turns, between 25 and 400, and of the place in the queue",
		show:  func(u *scorev1.User) string { return strconv.Itoa(int(u.GetShare())) },
		read:  func(u *scorev1.User, text string) (err error) { u.Share, err = cmdline.ParseCount(text); return err },
	},
	{
		key: "jobs", about: "most jobs that wait or run, with those that jobs spawn",
		show: func(u *scorev1.User) string { return limitWord(uint64(u.GetLimits().GetJobs())) },
		read: func(u *scorev1.User, text string) error { return readLimit(&u.GetLimits().Jobs, text) },
	},
	{
		key: "running", about: "most jobs that run at once; more wait",
		show: func(u *scorev1.User) string { return limitWord(uint64(u.GetLimits().GetRunning())) },
		read: func(u *scorev1.User, text string) error { return readLimit(&u.GetLimits().Running, text) },
	},
	{
		key: "cpus", about: "most CPUs of all that run; more wait",
		show: func(u *scorev1.User) string { return limitWord(uint64(u.GetLimits().GetCpus())) },
		read: func(u *scorev1.User, text string) error { return readLimit(&u.GetLimits().Cpus, text) },
	},
	{
		key: "memory", about: "most memory of a job on each node (512M, 2G)",
		show: func(u *scorev1.User) string {
			if limit := u.GetLimits().GetMemoryPerNodeBytes(); limit > 0 {
				return gang.FormatMemory(int64(limit))
			}
			return none
		},
		read: func(u *scorev1.User, text string) (err error) {
			if text == none {
				return nil
			}
			u.GetLimits().MemoryPerNodeBytes, err = cmdline.ParseBytes(text)
			return err
		},
	},
	{
		key: "time", about: "most run time of a job, and that of a job without --time (90m, 2d)",
		show: func(u *scorev1.User) string {
			if limit := u.GetLimits().GetTimeNanos(); limit > 0 {
				return clockTime(time.Duration(limit))
			}
			return none
		},
		read: func(u *scorev1.User, text string) error {
			if text == none {
				return nil
			}
			read := cmdline.ParseSpan
			if strings.ContainsAny(text, ":-") { // as 'scored user show' shows it
				read = cmdline.ParseTime
			}
			limit, err := read(text)
			if err != nil || limit <= 0 {
				return errors.New("write a time with its unit, as in 90m, 12h or 2d, or with colons, as in 1-12:00:00, or none")
			}
			u.GetLimits().TimeNanos = limit.Nanoseconds()
			return nil
		},
	},
	{
		key: "priority", about: "highest --priority of a job (0 unless set); operators may go beyond",
		show: func(u *scorev1.User) string { return strconv.Itoa(int(u.GetLimits().GetPriority())) },
		read: func(u *scorev1.User, text string) error {
			if text == none {
				u.GetLimits().Priority = nil
				return nil
			}
			n, err := strconv.ParseInt(text, 10, 32)
			if err != nil || n < 0 {
				return errors.New("write a number from 0 on, or none")
			}
			u.GetLimits().Priority = proto.Int32(int32(n))
			return nil
		},
	},
}

func readLimit(to *uint32, text string) error {
	if text == none {
		*to = 0
		return nil
	}
	n, err := cmdline.ParseCount(text)
	if err != nil || n > math.MaxInt32 {
		return errors.New("write a number above 0, or none")
	}
	*to = n
	return nil
}

func limitWord(n uint64) string {
	if n == 0 {
		return none
	}
	return strconv.FormatUint(n, 10)
}

func roleWord(role scorev1.Role) string {
	return strings.ToLower(strings.TrimPrefix(role.String(), "ROLE_"))
}

func userFieldsHelp() string {
	var out strings.Builder
	for _, field := range userFields {
		fmt.Fprintf(&out, "  %-8s  %s\n", field.key, field.about)
	}
	return out.String()
}

func findUserField(key string) (userField, error) {
	keys := make([]string, 0, len(userFields))
	for _, field := range userFields {
		if field.key == key {
			return field, nil
		}
		keys = append(keys, field.key)
	}
	return userField{}, fmt.Errorf("a user has no %q: it is %s", key, strings.Join(keys, ", "))
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
	for _, field := range userFields[:2] {
		t.row(field.key, field.show(u))
	}
	for _, field := range userFields[2:] {
		t.row("most "+field.key, field.show(u))
	}
	t.row("jobs", fmt.Sprintf("%d, of which %d run on %d CPUs; %d have ended", u.GetJobs(), u.GetRunning(), u.GetCpus(), u.GetJobsEnded()))
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
