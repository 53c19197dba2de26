package leader

import (
	"maps"
	"math"
	"score/gang"
	"score/scored/api/scorev1"
	"score/scored/state"
	"score/scored/state/statepb"
	"slices"
	"time"
)

const (
	// weighEvery is the interval at which usage is charged and priorities are updated: short
	// compared with the hours after which shares take effect, and long enough to cost nothing.
	weighEvery = 10 * time.Second
	// shareEvery is the shortest interval at which users with a first job are given points between
	// two weighings, since that may sort the whole queue.
	shareEvery = 100 * time.Millisecond
	// MinHalfLife and MaxHalfLife bound the half-life of past usage. In less than a few times
	// weighEvery usage would be forgotten before it counts; more than a year amounts to a ban.
	MinHalfLife = time.Minute
	MaxHalfLife = 366 * 24 * time.Hour
	// DefaultFairSharePoints is the points of a user with an unused share: the number of minutes in
	// ten days. Shares must outweigh the hours that jobs of users age who always have some waiting,
	// but no user should wait behind others for more than days.
	DefaultFairSharePoints = 10 * 24 * 60
	// MaxFairSharePoints is the highest setting, see gang.MaxOwnerPoints.
	MaxFairSharePoints = gang.MaxOwnerPoints
)

// weighLater sets the time of the next weighing, if it is not set.
func (all *accounts) weighLater(now int64, timers *timers) {
	if all.weighAt == 0 {
		all.weighAt = now + weighEvery.Nanoseconds()
		timers.add(timer{at: all.weighAt, kind: timerWeigh})
	}
}

// weighAgain sets the time of the next weighing, if there are jobs, when that of the last has come.
func (all *accounts) weighAgain(jobs int, now int64, timers *timers) {
	all.weighAt = 0
	if jobs > 0 {
		all.weighLater(now, timers)
	}
}

// shareSoon gives points to a user who had no jobs as soon as possible. Without points the user's
// job would stand behind the thousands that another user has just submitted.
func (all *accounts) shareSoon(now int64, timers *timers) {
	if all.shareAt == 0 {
		all.shareAt = max(now, all.sharedAt+shareEvery.Nanoseconds())
		timers.add(timer{at: all.shareAt, kind: timerShare})
	}
}

// updateUsage charges usage and updates priorities.
func (c *controller) updateUsage() {
	c.accounts.weighAgain(len(c.jobs), c.now, &c.timers)
	c.charge()
	c.updateOwners()
}

// charge commits what jobs have used since they were last charged.
func (c *controller) charge() {
	var used []*statepb.JobUsage
	for _, j := range c.sortedJobs() {
		if !j.active() || j.state == starting {
			continue
		}
		usage := j.usage()
		if usage.GetCpuNanos() <= j.charged.GetCpuNanos() && usage.GetRunNanos() <= j.charged.GetRunNanos() {
			continue
		}
		j.charged = usage
		used = append(used, &statepb.JobUsage{JobId: j.id, Usage: usage})
	}
	if len(used) > 0 {
		c.proposeLazily(&statepb.Command{Command: &statepb.Command_Charge{Charge: &statepb.Charge{Jobs: used}}}, c.now)
	}
}

// updateOwners sets the limits and priority points of the matrix's owners; the points depend on
// what is left of the share.
func (c *controller) updateOwners() {
	var users []*state.User
	c.readState(func(s *state.State) { users = s.Users() })
	c.setOwners(users)
}

// setOwners does the same with the records of the state.
func (c *controller) setOwners(users []*state.User) {
	cpus := func(uid uint32) int { return c.gang.OwnerUse(gang.OwnerID(uid)).CPUs }
	c.accounts.weigh(c.now, c.settings, users, cpus)
	if c.gang.SetOwners(c.accounts.owners()) {
		c.placeDirty, c.planDirty = true, true
	}
}

// owners returns the users as the matrix knows them, without those for whom all defaults hold.
func (all *accounts) owners() map[gang.OwnerID]gang.Owner {
	owners := make(map[gang.OwnerID]gang.Owner, len(all.byUID))
	for uid, a := range all.byUID {
		owner := gang.Owner{Points: a.points, Share: a.sliceShare(), MaxJobs: int(a.limits.GetRunning()), MaxCPUs: int(a.limits.GetCpus())}
		if owner != (gang.Owner{}) {
			owners[gang.OwnerID(uid)] = owner
		}
	}
	return owners
}

// sliceShare returns the user's share for the matrix; 0: the default.
func (a *account) sliceShare() int {
	if a.share == state.DefaultShare {
		return 0
	}
	return int(max(uint64(a.share)*gang.UsualShare/state.DefaultShare, 1))
}

// weigh computes the points of each user with jobs: 2^(-used/share) of the maximum, where both are
// fractions of the totals of all such users. What a user's jobs hold now, so many CPUs, counts as
// used until the next weighing. A user who has used exactly the share has half of the points, one
// who has used nothing all. Points are rounded to a thousand steps, so that the queue is not sorted
// for small changes.
func (all *accounts) weigh(now int64, settings *scorev1.Settings, users []*state.User, cpus func(uid uint32) int) {
	all.sharedAt, all.shareAt = now, 0
	maxPoints := fairSharePoints(settings)
	half := state.HalfLifeOf(settings)
	var used, shares float64
	recent := make(map[uint32]float64, len(all.byUID))
	for _, record := range users {
		left := float64(record.Recent(now, half))
		recent[record.UID] = left
		if a := all.byUID[record.UID]; left > 0 && (a == nil || a.jobs == 0) {
			used += left
			shares += float64(record.Share)
		}
	}
	for _, uid := range slices.Sorted(maps.Keys(all.byUID)) {
		if a := all.byUID[uid]; a.jobs > 0 {
			recent[uid] += float64(cpus(uid)) * float64(weighEvery.Microseconds())
			used += recent[uid]
			shares += float64(a.share)
		}
	}
	for uid, a := range all.byUID {
		a.points = 0
		if maxPoints == 0 || a.jobs == 0 {
			continue
		}
		part := 1.0
		if used > 0 {
			part = math.Exp2(-recent[uid] / used * shares / float64(a.share))
		}
		a.points = int(math.Round(part*pointSteps)) * maxPoints / pointSteps
	}
}

// pointSteps is the resolution of points.
const pointSteps = 1000

func fairSharePoints(s *scorev1.Settings) int {
	if s.FairSharePoints == nil {
		return DefaultFairSharePoints
	}
	return int(s.GetFairSharePoints())
}
