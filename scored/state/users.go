package state

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"math/bits"
	"score/scored/api/scorev1"
	"score/scored/state/statepb"
	"slices"

	"google.golang.org/protobuf/proto"
)

const (
	// MaxUsers bounds the users that are kept, at about 200 bytes each. Beyond it, new users are
	// not accounted for.
	MaxUsers = 50000
	// DefaultShare is the share of users for whom none was set. It leaves room below for users who
	// shall have less.
	DefaultShare = 100
	// MaxShare bounds shares, so that their sum over MaxUsers fits into 32 bits.
	MaxShare = 10000
)

// User is a user as the log knows it. Amounts are microseconds of one CPU.
type User struct {
	UID    uint32
	Name   string // as last seen
	Role   scorev1.Role
	Share  uint32
	Limits *scorev1.UserLimits // nil: no limits

	CPU    uint64 // time that ranks ran
	Held   uint64 // CPUs given times the time that their gang was on
	Jobs   uint64 // ended ones
	recent uint64 // the part of Held that had not decayed at time at
	at     int64
}

// DefaultUser returns a user that the log does not know.
func DefaultUser(uid uint32, name string) *User {
	return &User{UID: uid, Name: name, Role: scorev1.Role_ROLE_USER, Share: DefaultShare}
}

// Recent returns the part of Held that has not decayed by now.
func (u *User) Recent(now, halfLife int64) uint64 { return decay(u.recent, now-u.at, halfLife) }

// HalfLife returns the half-life of past usage in nanoseconds.
func (s *State) HalfLife() int64 { return HalfLifeOf(s.settings) }

// HalfLifeOf returns the half-life of the settings, or the default.
func HalfLifeOf(settings *scorev1.Settings) int64 {
	if half := settings.GetUsageHalfLifeNanos(); half > 0 {
		return half
	}
	return DefaultHalfLife
}

// User returns the user with this id, or nil if the log does not know it.
func (s *State) User(uid uint32) *User { return s.users[uid] }

// Users returns all users that the log knows, by id.
func (s *State) Users() []*User {
	return slices.SortedFunc(maps.Values(s.users), func(a, b *User) int { return cmp.Compare(a.UID, b.UID) })
}

func (s *State) setUser(c *statepb.SetUser) error {
	switch {
	case c.GetRole() < scorev1.Role_ROLE_USER || c.GetRole() > scorev1.Role_ROLE_ADMIN:
		return fmt.Errorf("%w: role %d", ErrCommand, c.GetRole())
	case c.GetShare() < 1 || c.GetShare() > MaxShare:
		return fmt.Errorf("%w: share %d", ErrCommand, c.GetShare())
	case c.GetLimits().GetTimeNanos() < 0:
		return fmt.Errorf("%w: a run time of %d", ErrCommand, c.GetLimits().GetTimeNanos())
	case s.users[c.GetUid()] == nil && len(s.users) >= MaxUsers:
		return fmt.Errorf("%w: %d users", ErrTooMany, MaxUsers)
	}
	next := s.userOr(c.GetUid(), c.GetName())
	next.Name, next.Role, next.Share, next.Limits = c.GetName(), c.GetRole(), c.GetShare(), c.GetLimits()
	put(s, s.users, next.UID, next)
	return nil
}

// userOr returns a copy of the user's record, or a new one.
func (s *State) userOr(uid uint32, name string) *User {
	if known := s.users[uid]; known != nil {
		next := *known
		return &next
	}
	return DefaultUser(uid, name)
}

func (s *State) charge(c *statepb.Charge, now int64) error {
	for _, used := range c.GetJobs() {
		job, err := s.jobIn(used.GetJobId(), Allocated, Running)
		if err != nil {
			return err
		}
		next := *job
		next.Usage = atLeast(used.GetUsage(), job.Usage)
		put(s, s.jobs, job.ID, &next)
		s.book(job, next.Usage, 0, now)
	}
	return nil
}

// atLeast keeps the charged usage from falling, since the difference would be charged again: an
// agent that was restarted may not know all.
func atLeast(usage, before *scorev1.Usage) *scorev1.Usage {
	if usage.GetCpuNanos() >= before.GetCpuNanos() && usage.GetRunNanos() >= before.GetRunNanos() {
		return usage
	}
	more := &scorev1.Usage{}
	if usage != nil {
		more = proto.Clone(usage).(*scorev1.Usage)
	}
	more.CpuNanos = max(more.GetCpuNanos(), before.GetCpuNanos())
	more.RunNanos = max(more.GetRunNanos(), before.GetRunNanos())
	return more
}

// book adds what the job has used since it was last charged to the account of its user, and the
// number of jobs that have ended.
func (s *State) book(job *Job, usage *scorev1.Usage, ended uint64, now int64) {
	uid := job.User.GetUid()
	if s.users[uid] == nil && len(s.users) >= MaxUsers {
		return
	}
	cpu := micros(usage.GetCpuNanos()) - micros(job.Usage.GetCpuNanos())
	on := micros(usage.GetRunNanos()) - micros(job.Usage.GetRunNanos())
	held := satMul(on, uint64(job.HeldCPUs))
	next := s.userOr(uid, job.User.GetUser())
	next.CPU, next.Held = satAdd(next.CPU, cpu), satAdd(next.Held, held)
	next.recent, next.at = satAdd(next.Recent(now, s.HalfLife()), held), now
	next.Jobs += ended
	put(s, s.users, uid, next)
}

// micros drops fractions of a microsecond. Callers subtract rounded totals, so nothing is lost over
// time.
func micros(nanos int64) uint64 { return uint64(max(nanos, 0)) / 1000 }

func satAdd(a, b uint64) uint64 {
	sum, carry := bits.Add64(a, b, 0)
	if carry != 0 {
		return math.MaxUint64
	}
	return sum
}

func satMul(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	if hi != 0 {
		return math.MaxUint64
	}
	return lo
}

// decayAll decays all accounts up to now, before a new half-life takes effect.
func (s *State) decayAll(now int64) {
	for uid, user := range s.users { // any order: each by itself
		next := *user
		next.recent, next.at = user.Recent(now, s.HalfLife()), now
		put(s, s.users, uid, &next)
	}
}

// held returns the number of CPUs that a job's user is charged for: those that the job keeps from
// others. An exclusive job keeps whole nodes. A job that joins a gang is charged only for CPUs that
// the gang did not have.
func (s *State) held(job *Job, places []Place, founder JobID) uint32 {
	count := uint32(0)
	for _, place := range places {
		if job.Spec.GetExclusive() {
			count += s.nodes[place.Node].CPUs
			continue
		}
		count += uint32(len(place.CPUs))
	}
	if founder == 0 || founder == job.ID {
		return count
	}
	return count - min(count, s.shared(places, founder))
}

// shared counts the CPUs of places that other jobs of the gang have.
func (s *State) shared(places []Place, founder JobID) uint32 {
	type cpu struct {
		node  string
		index uint32
	}
	taken := make(map[cpu]bool)
	for _, other := range s.jobs { // any order: a union
		if other.Gang != founder || other.Phase == Done {
			continue
		}
		for _, place := range other.Places {
			for _, index := range place.CPUs {
				taken[cpu{place.Node, index}] = true
			}
		}
	}
	count := uint32(0)
	for _, place := range places {
		for _, index := range place.CPUs {
			if taken[cpu{place.Node, index}] {
				count++
			}
		}
	}
	return count
}

func userFromProto(u *statepb.User) *User {
	return &User{
		UID: u.GetUid(), Name: u.GetName(), Role: u.GetRole(), Share: u.GetShare(), Limits: u.GetLimits(),
		CPU: u.GetCpuMicros(), Held: u.GetHeldMicros(), Jobs: u.GetJobsEnded(),
		recent: u.GetRecentMicros(), at: u.GetRecentNanos(),
	}
}

func (u *User) proto() *statepb.User {
	return &statepb.User{
		Uid: u.UID, Name: u.Name, Role: u.Role, Share: u.Share, Limits: u.Limits,
		CpuMicros: u.CPU, HeldMicros: u.Held, JobsEnded: u.Jobs,
		RecentMicros: u.recent, RecentNanos: u.at,
	}
}
