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

// scheduleWeighing sets the time of the next weighing if there is a job.
func (c *controller) scheduleWeighing() {
	if c.weighAt == 0 && len(c.jobs) > 0 {
		c.weighAt = c.now + weighEvery.Nanoseconds()
		c.timers.add(timer{at: c.weighAt, kind: timerWeigh})
	}
}

// updateUsage charges usage and updates priorities.
func (c *controller) updateUsage() {
	c.weighAt = 0
	c.scheduleWeighing()
	c.charge()
	c.updateOwners()
}

// grantPointsSoon gives points to a user who had no jobs as soon as possible. Without points the
// user's job would stand behind the thousands that another user has just submitted.
func (c *controller) grantPointsSoon() {
	if c.shareAt == 0 {
		c.shareAt = max(c.now, c.sharedAt+shareEvery.Nanoseconds())
		c.timers.add(timer{at: c.shareAt, kind: timerShare})
	}
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
	c.sharedAt, c.shareAt = c.now, 0
	c.weights()
	owners := make(map[gang.OwnerID]gang.Owner, len(c.accounts))
	for uid, a := range c.accounts {
		owner := gang.Owner{Points: a.points, Share: a.sliceShare(), MaxJobs: int(a.limits.GetRunning()), MaxCPUs: int(a.limits.GetCpus())}
		if owner != (gang.Owner{}) {
			owners[gang.OwnerID(uid)] = owner
		}
	}
	if c.gang.SetOwners(owners) {
		c.placeDirty, c.planDirty = true, true
	}
}

// sliceShare returns the user's share for the matrix; 0: the default.
func (a *account) sliceShare() int {
	if a.share == state.DefaultShare {
		return 0
	}
	return int(max(uint64(a.share)*gang.UsualShare/state.DefaultShare, 1))
}

// weights computes the points of each user with jobs: 2^(-used/share) of the maximum, where both
// are fractions of the totals of all such users. What a user's jobs hold now counts as used until
// the next weighing. A user who has used exactly the share has half of the points, one who has used
// nothing all. Points are rounded to a thousand steps, so that the queue is not sorted for small
// changes.
func (c *controller) weights() {
	maxPoints := fairSharePoints(c.settings)
	half := state.HalfLifeOf(c.settings)
	var used, shares float64
	recent := make(map[uint32]float64, len(c.accounts))
	c.readState(func(s *state.State) {
		for _, record := range s.Users() {
			left := float64(record.Recent(c.now, half))
			recent[record.UID] = left
			if a := c.accounts[record.UID]; left > 0 && (a == nil || a.jobs == 0) {
				used += left
				shares += float64(record.Share)
			}
		}
	})
	for _, uid := range c.sortedAccounts() {
		if a := c.accounts[uid]; a.jobs > 0 {
			recent[uid] += float64(c.gang.OwnerUse(gang.OwnerID(uid)).CPUs) * float64(weighEvery.Microseconds())
			used += recent[uid]
			shares += float64(a.share)
		}
	}
	for uid, a := range c.accounts {
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

func (c *controller) sortedAccounts() []uint32 { return slices.Sorted(maps.Keys(c.accounts)) }
