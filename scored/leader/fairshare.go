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
	// weighEvery is how often what jobs have used is charged and priorities follow:
	// often beside the hours in which shares show, seldom enough to cost nothing.
	weighEvery = 10 * time.Second
	// shareEvery bounds how often users who come with a first job are given points before the
	// others are weighed: that may sort the whole queue.
	shareEvery = 100 * time.Millisecond
	// MinHalfLife and MaxHalfLife bound after what time half of what was used is
	// forgotten: what is shorter than weighEvery a few times would be forgotten
	// before it counts, what is longer than a year is a ban.
	MinHalfLife = time.Minute
	MaxHalfLife = 366 * 24 * time.Hour
	// DefaultFairSharePoints is what having used nothing of one's share is worth:
	// as many points as ten days have minutes. Shares must outweigh the hours that
	// jobs age in the queues of those who always have some waiting, and nobody
	// shall wait behind others for more than days.
	DefaultFairSharePoints = 10 * 24 * 60
	// MaxFairSharePoints bounds it, see gang.MaxOwnerPoints.
	MaxFairSharePoints = gang.MaxOwnerPoints
)

// scheduleWeighing sets the time of the next weighing while there is a job.
func (c *controller) scheduleWeighing() {
	if c.weighAt == 0 && len(c.jobs) > 0 {
		c.weighAt = c.now + weighEvery.Nanoseconds()
		c.timers.add(timer{at: c.weighAt, kind: timerWeigh})
	}
}

// updateUsage charges what was used and lets priorities follow.
func (c *controller) updateUsage() {
	c.weighAt = 0
	c.scheduleWeighing()
	c.charge()
	c.updateOwners()
}

// grantPointsSoon gives somebody who had no jobs points as soon as possible: without, a job would stand
// behind all those of whoever has just submitted thousands.
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

// updateOwners tells the matrix of its owners: their limits, and how many points of
// priority each has for what is left of the share.
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

// sliceShare returns the user's share as the matrix knows it; 0: the usual one.
func (a *account) sliceShare() int {
	if a.share == state.DefaultShare {
		return 0
	}
	return int(max(uint64(a.share)*gang.UsualShare/state.DefaultShare, 1))
}

// weights gives every user with jobs the points for what is left of the share: 2^(-used/share) of
// the most there are, where both are parts of what all such users have; what a user has now counts
// as used until the next weighing. Who has used what the share says has half of them, whoever has
// used nothing all. Points come in a thousand steps, so that the queue is not sorted again for
// nothing.
func (c *controller) weights() {
	most := fairSharePoints(c.settings)
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
		if most == 0 || a.jobs == 0 {
			continue
		}
		part := 1.0
		if used > 0 {
			part = math.Exp2(-recent[uid] / used * shares / float64(a.share))
		}
		a.points = int(math.Round(part*pointSteps)) * most / pointSteps
	}
}

// pointSteps is how finely points tell how much was used.
const pointSteps = 1000

func fairSharePoints(s *scorev1.Settings) int {
	if s.FairSharePoints == nil {
		return DefaultFairSharePoints
	}
	return int(s.GetFairSharePoints())
}

func (c *controller) sortedAccounts() []uint32 { return slices.Sorted(maps.Keys(c.accounts)) }
