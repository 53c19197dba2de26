package leader

import (
	"fmt"
	"score/gang"
	"score/scored/api/plural"
	"score/scored/api/scorev1"
	"score/scored/state"
	"time"

	"google.golang.org/protobuf/proto"
)

const (
	// maxJobsOfOne is the default limit of a user's jobs that wait or run: three quarters of what
	// the cluster keeps, so that one user's burst never shuts the others out.
	maxJobsOfOne = state.MaxUnfinished / 4 * 3
	// maxBytesOfOne bounds what the command lines and environments of a user's jobs that wait or
	// run take (specBytes): ten times that of 10,000 jobs from a login shell. Every server keeps
	// them in memory and in its log.
	maxBytesOfOne = 256 << 20
)

// account is a user as the controller knows it.
type account struct {
	uid    uint32
	name   string
	role   scorev1.Role
	share  uint32
	limits *scorev1.UserLimits
	kept   bool // the state has a record
	jobs   int  // that wait or run, including spawned ones
	bytes  int  // that their specs take
	points int  // of priority
}

// newAccount returns the account for a record of the state.
func newAccount(record *state.User) *account {
	return &account{uid: record.UID, name: record.Name, role: record.Role, share: record.Share, limits: record.Limits, kept: true}
}

// accounts holds all users who have a record in the state, or jobs that wait or run. A job counts
// from add to remove. While there are jobs, a time is set when all users are charged; when a user
// has a first job, a time is set when that user gets points.
type accounts struct {
	byUID    map[uint32]*account
	weighAt  int64 // when users are charged next; 0: there is no job
	sharedAt int64 // when users were last given points
	shareAt  int64 // when a new user is given points; 0: there is none
}

func newAccounts(s *state.State) accounts {
	all := accounts{byUID: make(map[uint32]*account)}
	for _, record := range s.Users() {
		all.byUID[record.UID] = newAccount(record)
	}
	return all
}

// of returns a user's account. An account without jobs and without a record is not kept.
func (all *accounts) of(uid uint32, name string) *account {
	if a := all.byUID[uid]; a != nil {
		return a
	}
	a := newAccount(state.DefaultUser(uid, name))
	a.kept = false
	return a
}

// ofOwner returns the account of a job's owner.
func (all *accounts) ofOwner(j *job) *account { return all.of(j.user.GetUid(), j.user.GetUser()) }

// put replaces an account by one that the state has recorded.
func (all *accounts) put(a *account) { all.byUID[a.uid] = a }

// add counts a job that waits or runs. A user without others gets points for it soon.
func (all *accounts) add(j *job, now int64, timers *timers) {
	a := all.ofOwner(j)
	a.jobs++
	a.bytes += j.bytes
	all.byUID[a.uid] = a
	if a.jobs == 1 {
		all.shareSoon(now, timers)
	}
	all.weighLater(now, timers)
}

// remove no longer counts a job.
func (all *accounts) remove(j *job) {
	a := all.ofOwner(j)
	a.jobs--
	a.bytes -= j.bytes
	if a.jobs == 0 && !a.kept {
		delete(all.byUID, a.uid) // users with usage are in the state
	}
}

func yourJobs(n int) string {
	return "your " + plural.Of(n, "job that waits or runs", "jobs that wait or run")
}

// admit refuses a job that exceeds its user's limits, which the sentence names. A job without a
// limit of its own gets its user's.
func (all *accounts) admit(j *job, caller Caller) error {
	a := all.ofOwner(j)
	limit, limits := a.maxJobs(caller), a.limits
	spec := j.spec
	cpus := uint64(spec.GetTasks()) * uint64(max(spec.GetCpusPerTask(), 1))
	switch {
	case a.jobs >= limit:
		return limitError("%d of your jobs wait or run already, and you may have %d; wait until some have ended", a.jobs, limit)
	case a.bytes+j.bytes > maxBytesOfOne:
		return fmt.Errorf(
			"%w: arguments and environments of %s take %d MiB, and may take %d; pass fewer variables with --export, or wait until some have ended",
			ErrImpossible,
			yourJobs(a.jobs),
			a.bytes>>20,
			maxBytesOfOne>>20,
		)
	case limits.GetCpus() > 0 && cpus > uint64(limits.GetCpus()) && !spec.GetOversubscribe():
		return limitError("the job asks for %d CPUs, %d more than your limit of %d", cpus, cpus-uint64(limits.GetCpus()), limits.GetCpus())
	case limits.GetMemoryPerNodeBytes() > 0 && spec.GetMemoryPerNodeBytes() > limits.GetMemoryPerNodeBytes():
		return limitError("the job asks for %s on each node, more than your limit of %s; ask for less with --mem",
			AskedMemory(spec.GetMemoryPerNodeBytes()), gang.FormatMemory(asInt(limits.GetMemoryPerNodeBytes())))
	case limits.GetTimeNanos() > 0 && spec.GetTimeLimitNanos() > limits.GetTimeNanos():
		return limitError("the job asks for a run time of %v, %v more than your limit of %v", time.Duration(spec.GetTimeLimitNanos()),
			time.Duration(spec.GetTimeLimitNanos()-limits.GetTimeNanos()), time.Duration(limits.GetTimeNanos()))
	}
	if highest := limits.GetPriority(); spec.GetPriority() > highest && !caller.operates() {
		return fmt.Errorf(
			"%w: the job asks for priority %d, and yours may be at most %d; anybody may ask for less, operators for more, and an administrator can raise it with 'scored user set'",
			ErrDenied,
			spec.GetPriority(),
			highest,
		)
	}
	if limits.GetTimeNanos() > 0 && spec.GetTimeLimitNanos() == 0 {
		spec = proto.Clone(spec).(*scorev1.JobSpec)
		spec.TimeLimitNanos = limits.GetTimeNanos()
		j.spec, j.listed = spec, listedSpec(spec)
	}
	return nil
}

func limitError(format string, args ...any) error {
	return fmt.Errorf("%w: %s; an administrator can change limits with 'scored user set'", ErrImpossible, fmt.Sprintf(format, args...))
}

func (a *account) maxJobs(caller Caller) int {
	switch {
	case a.limits.GetJobs() > 0:
		return int(a.limits.GetJobs())
	case caller.operates():
		return state.MaxUnfinished
	}
	return maxJobsOfOne
}
