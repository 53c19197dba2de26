package failpoint

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Variable is the environment variable that sets failpoints.
const Variable = "SCORE_FAILPOINTS"

// MaxDuration bounds a delay or shift: more is no fault but a mistake in the unit.
const MaxDuration = time.Minute

// ErrList is wrapped by the errors of a list that cannot be used.
var ErrList = errors.New("the list of failpoints is not usable")

// parse reads a list and keeps what is for the daemon. All of it is checked. The set
// is nil if nothing is left.
func parse(list, daemon string) (*set, error) {
	var s set
	ours := false
	items := strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == '\n' })
	for _, item := range items {
		item = strings.TrimSpace(item)
		if item == "" {
			continue
		}
		r, whose, err := parseItem(item)
		if err != nil {
			return nil, fmt.Errorf("%w: %q: %w", ErrList, item, err)
		}
		if whose == "" || whose == daemon {
			s[r.point] = append(s[r.point], r)
			ours = true
		}
	}
	if !ours {
		return nil, nil
	}
	return &s, nil
}

// parseItem reads [DAEMON:]POINT=ACTION[@N].
func parseItem(item string) (_ *rule, daemon string, err error) {
	name, what, ok := strings.Cut(item, "=")
	if !ok {
		return nil, "", errors.New("write POINT=ACTION")
	}
	if whose, rest, ok := strings.Cut(name, ":"); ok {
		daemon, name = whose, rest
	}
	info, err := lookup(name)
	if err != nil {
		return nil, "", err
	}
	r := &rule{point: info.Point}
	what, nth, counted := strings.Cut(what, "@")
	if counted {
		if r.nth, err = strconv.ParseUint(nth, 10, 64); err != nil || r.nth == 0 {
			return nil, "", fmt.Errorf("%q is no number from 1 on", nth)
		}
	}
	if err := r.setAction(what, info.can); err != nil {
		return nil, "", err
	}
	if !counted && r.action != actionDelay && r.action != actionShift {
		r.nth = 1
	}
	return r, daemon, nil
}

func lookup(name string) (Info, error) {
	for _, info := range Table {
		if info.Name == name {
			return info, nil
		}
	}
	return Info{}, fmt.Errorf("there is no failpoint %q; these are the points: %s", name, strings.Join(names(), " "))
}

// names returns the names of all points.
func names() []string {
	names := make([]string, 0, pointCount)
	for _, info := range Table {
		names = append(names, info.Name)
	}
	return names
}

func (r *rule) setAction(what string, can can) (err error) {
	word, duration, timed := strings.Cut(what, ":")
	switch word {
	case "kill":
		r.action = actionKill
	case "stop":
		r.action = actionStop
	case "delay":
		r.action = actionDelay
	case "error":
		r.action = actionError
	case "shift":
		r.action = actionShift
	default:
		return fmt.Errorf("there is no action %q; kill, stop, delay:DURATION, error and shift:DURATION are there", word)
	}
	switch {
	case r.action == actionError && can&canFail == 0:
		return errors.New("nothing can fail at this point")
	case r.action == actionShift && can&canShift == 0:
		return errors.New("there is no value to shift at this point")
	case timed != (r.action == actionDelay || r.action == actionShift):
		return errors.New("delay and shift need a duration, as in delay:20ms, the others have none")
	case !timed:
		return nil
	}
	r.by, err = time.ParseDuration(duration)
	if err != nil || r.by < -MaxDuration || r.by > MaxDuration || r.action == actionDelay && r.by < 0 {
		return fmt.Errorf("%q is no duration up to %v", duration, MaxDuration)
	}
	return nil
}
