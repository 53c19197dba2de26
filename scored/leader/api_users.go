package leader

import (
	"context"
	"fmt"
	"maps"
	"math"
	"score/gang"
	"score/scored/api/scorev1"
	"score/scored/state"
	"score/scored/state/statepb"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"
)

// CallerOf returns the user with their role in the cluster, as far as this server knows; admin
// marks administrators by the system.
func (l *Leader) CallerOf(uid uint32, admin bool) Caller {
	caller := Caller{UID: uid, Role: scorev1.Role_ROLE_USER}
	if admin {
		caller.Role = scorev1.Role_ROLE_ADMIN
		return caller
	}
	l.options.Replica.Read(func(s *state.State) {
		if record := s.User(uid); record != nil {
			caller.Role = record.Role
		}
	})
	return caller
}

// Users returns all users that the cluster knows, by number; only the caller's own record, unless
// the caller is an operator.
func (l *Leader) Users(ctx context.Context, caller Caller, name string) ([]*scorev1.User, error) {
	return observe(ctx, l, func(c *controller) []*scorev1.User {
		if !caller.operates() {
			return []*scorev1.User{c.userView(c.accounts.of(caller.UID, name))}
		}
		all := make(map[uint32]*account)
		c.readState(func(s *state.State) {
			for _, record := range s.Users() {
				all[record.UID] = newAccount(record)
			}
		})
		maps.Copy(all, c.accounts.byUID)
		users := make([]*scorev1.User, 0, len(all))
		for _, uid := range slices.Sorted(maps.Keys(all)) {
			users = append(users, c.userView(all[uid]))
		}
		return users
	})
}

func (c *controller) userView(a *account) *scorev1.User {
	use := c.gang.OwnerUse(gang.OwnerID(a.uid))
	view := &scorev1.User{
		Uid: a.uid, Name: a.name, Role: a.role, Share: a.share, Limits: a.limits,
		Jobs: uint32(a.jobs), Running: uint32(use.Jobs), Cpus: uint32(use.CPUs), Points: int32(a.points),
	}
	c.readState(func(s *state.State) {
		if record := s.User(a.uid); record != nil {
			view.CpuMicros, view.HeldMicros, view.JobsEnded = record.CPU, record.Held, record.Jobs
			view.RecentMicros = record.Recent(c.now, state.HalfLifeOf(c.settings))
		}
	})
	return view
}

// userFields are the fields that SetUser can change.
var userFields = []string{"role", "share", "jobs", "running", "cpus", "memory", "time", "priority"}

// SetUser changes the named fields of a user and returns the user.
func (l *Leader) SetUser(ctx context.Context, uid uint32, name string, values *scorev1.User, fields []string) (*scorev1.User, error) {
	return decide(ctx, l, func(c *controller) (*scorev1.User, error) {
		a, err := c.setUser(uid, name, values, fields)
		if err != nil {
			return nil, err
		}
		return c.userView(a), nil
	})
}

func (c *controller) setUser(uid uint32, name string, values *scorev1.User, fields []string) (*account, error) {
	if len(fields) == 0 {
		return nil, fmt.Errorf("%w: name what to change: %v", ErrInvalid, userFields)
	}
	next := *c.accounts.of(uid, name)
	limits := &scorev1.UserLimits{}
	if next.limits != nil {
		limits = proto.Clone(next.limits).(*scorev1.UserLimits)
	}
	for _, field := range fields {
		switch field {
		case "role":
			next.role = values.GetRole()
		case "share":
			next.share = values.GetShare()
		case "jobs":
			limits.Jobs = values.GetLimits().GetJobs()
		case "running":
			limits.Running = values.GetLimits().GetRunning()
		case "cpus":
			limits.Cpus = values.GetLimits().GetCpus()
		case "memory":
			limits.MemoryPerNodeBytes = values.GetLimits().GetMemoryPerNodeBytes()
		case "time":
			limits.TimeNanos = values.GetLimits().GetTimeNanos()
		case "priority":
			limits.Priority = values.GetLimits().Priority
		default:
			return nil, fmt.Errorf("%w: a user has no %q; there are %v", ErrInvalid, clip(field), userFields)
		}
	}
	if err := checkUser(&next, limits); err != nil {
		return nil, err
	}
	next.name, next.limits, next.kept = name, limits, true
	c.accounts.put(&next)
	c.propose(&statepb.Command{Command: &statepb.Command_SetUser{SetUser: &statepb.SetUser{
		Uid: uid, Name: name, Role: next.role, Share: next.share, Limits: limits,
	}}})
	c.updateOwners()
	return &next, nil
}

func checkUser(a *account, limits *scorev1.UserLimits) error {
	switch {
	case a.role < scorev1.Role_ROLE_USER || a.role > scorev1.Role_ROLE_ADMIN:
		return fmt.Errorf("%w: there is no role %d", ErrInvalid, a.role)
	case a.share < 1 || a.share > state.MaxShare:
		return fmt.Errorf("%w: a share of %d is not between 1 and %d", ErrInvalid, a.share, state.MaxShare)
	case limits.GetMemoryPerNodeBytes() > gang.MaxMemory:
		return fmt.Errorf(
			"%w: a limit of %s is more than the most memory there can be, %s",
			ErrInvalid,
			AskedMemory(limits.GetMemoryPerNodeBytes()),
			gang.FormatMemory(gang.MaxMemory),
		)
	case limits.GetTimeNanos() < 0 || limits.GetTimeNanos() > int64(gang.MaxTimeLimit):
		return fmt.Errorf("%w: a limit of %v is not between 0 and %v", ErrInvalid, time.Duration(limits.GetTimeNanos()), gang.MaxTimeLimit)
	case limits.GetPriority() < 0 || limits.GetPriority() > gang.MaxPriority:
		return fmt.Errorf("%w: a highest priority of %d is not between 0 and %d", ErrInvalid, limits.GetPriority(), gang.MaxPriority)
	case uint64(limits.GetCpus()) > math.MaxInt32 || uint64(limits.GetRunning()) > math.MaxInt32:
		return fmt.Errorf("%w: a limit above %d", ErrInvalid, math.MaxInt32)
	}
	return nil
}

// User returns one user: the caller, or any user if the caller is an operator.
func (l *Leader) User(ctx context.Context, caller Caller, uid uint32, name string) (*scorev1.User, error) {
	if !caller.operates() && caller.UID != uid {
		return nil, fmt.Errorf("%w: only operators may look at other users", ErrDenied)
	}
	return observe(ctx, l, func(c *controller) *scorev1.User {
		a := c.accounts.byUID[uid]
		c.readState(func(s *state.State) {
			if record := s.User(uid); a == nil && record != nil {
				a = newAccount(record)
			}
		})
		if a == nil {
			a = c.accounts.of(uid, name)
		}
		return c.userView(a)
	})
}
