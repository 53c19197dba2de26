package switcher

import (
	"score/ctxswitch"
	"score/nodeagent/realtime"
	"time"
)

// slowOrder is the shortest duration of an order to stop whose cost is measured: the kernel takes 1
// us for each thread, and 10 to 20 us in all for a job with few threads. For shorter orders the
// job's processor time is not read, since reading it takes longer than the order.
const slowOrder = 100 * time.Microsecond

// costlyStop is the smallest cost of a stop after which the thread gives orders to the job on the
// job's own CPUs: some ten times what it takes to move the switching thread there and back.
const costlyStop = time.Millisecond

// maxStopParts bounds the processor time that counts as part of a stop, as a multiple of the
// duration of the orders. Usually it is three times that duration. The kernel accounts for a
// running thread only at the next tick, so time that was used before the order can look as if it
// were used after it.
const maxStopParts = 8

// freezing is a freeze that has not been confirmed yet.
type freezing struct {
	effect ctxswitch.Effect
	job    *job
	took   time.Duration // of the order and of the last thaw; 0 if the order was not slow
	used   time.Duration // the job's processor time after the order
}

// newFreezing returns a freeze whose order has taken the given time.
func newFreezing(effect ctxswitch.Effect, j *job, took time.Duration) freezing {
	f := freezing{effect: effect, job: j}
	if took < slowOrder {
		return f
	}
	used, err := j.Container.CPUTime()
	if err == nil {
		f.took, f.used = took+j.thawed, used
	}
	return f
}

// cost returns what the stop has cost so far: the duration of the orders, and the processor time in
// which the job's threads stopped. The orders count at most as much as that processor time: longer
// ones have waited for other users of the kernel's control groups, which is not the job's fault.
func (f *freezing) cost() time.Duration {
	if f.took == 0 {
		return 0
	}
	now, err := f.job.Container.CPUTime()
	if err != nil {
		return 0
	}
	used := min(now-f.used, maxStopParts*f.took)
	return used + min(f.took, used)
}

// reportCost reports to the machine what the job's stop has cost so far, if it is still under way.
func (s *Switcher) reportCost(j *job) {
	for i := range s.freezing {
		if f := &s.freezing[i]; f.job == j && f.took > 0 {
			cost := f.cost()
			j.costly = cost >= costlyStop
			s.order(realtime.Now(), ctxswitch.StopCost(j.ID, cost))
		}
	}
}
