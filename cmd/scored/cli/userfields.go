package cli

import (
	"errors"
	"fmt"
	"math"
	"score/cmd/cmdline"
	"score/gang"
	"score/scored/api/scorev1"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"
)

// none is the word for no limit.
const none = "none"

// userField is a property of a user that can be set.
type userField struct {
	key   string // also its name in the request
	limit bool
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
		key: "jobs", limit: true, about: "most jobs that wait or run, with those that jobs spawn",
		show: func(u *scorev1.User) string { return limitWord(uint64(u.GetLimits().GetJobs())) },
		read: func(u *scorev1.User, text string) error { return readLimit(&u.GetLimits().Jobs, text) },
	},
	{
		key: "running", limit: true, about: "most jobs that run at once; more wait",
		show: func(u *scorev1.User) string { return limitWord(uint64(u.GetLimits().GetRunning())) },
		read: func(u *scorev1.User, text string) error { return readLimit(&u.GetLimits().Running, text) },
	},
	{
		key: "cpus", limit: true, about: "most CPUs of all that run; more wait",
		show: func(u *scorev1.User) string { return limitWord(uint64(u.GetLimits().GetCpus())) },
		read: func(u *scorev1.User, text string) error { return readLimit(&u.GetLimits().Cpus, text) },
	},
	{
		key: "memory", limit: true, about: "most memory of a job on each node (512M, 2G)",
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
		key: "time", limit: true, about: "most run time of a job, and that of a job without --time (90m, 2d)",
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
		key: "priority", limit: true, about: "highest --priority of a job (0 unless set); operators may go beyond",
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

// title returns the field's name in 'scored user show'.
func (f *userField) title() string {
	if f.limit {
		return "most " + f.key
	}
	return f.key
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
