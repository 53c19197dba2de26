package switcher

import (
	"score/ctxswitch"
	"score/nodeagent/realtime"
	"time"
)

// slowOrder is how long the order to stop takes of a job whose stop may be costly: the kernel takes
// 1 us for each thread, and 10 to 20 us in all for a job with few. The processor time of others is
// not read, since that takes longer than the order.
const slowOrder = 100 * time.Microsecond

// costlyStop is the cost of a stop from which on orders to the job are given on its own CPUs: some
// ten times what it takes to move the switching thread there and back.
const costlyStop = time.Millisecond

// maxStopParts is how many times the time of the orders its threads take to stop at most; usually it is
// three times. The kernel counts the time of a thread that runs only at the next tick, so that what
// threads used before the order can look as if it were after it.
const maxStopParts = 8

// freezing is a freeze that has not been confirmed yet.
type freezing struct {
	effect ctxswitch.Effect
	job    *job
	took   time.Duration // by the order and the last one to go on, if the former was slow, else 0
	used   time.Duration // the job's processor time after the order
}

// newFreezing returns a freeze whose order took so long.
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

// cost returns what the stop has cost so far: the time of the orders, and the processor time in which
// the job's threads stopped. Orders take as much as that at most; those that took longer have waited
// for other users of the kernel's control groups, which is not the job's doing.
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

// reportCost reports to the machine what the job's stop has cost, if it is not over yet.
func (s *Switcher) reportCost(j *job) {
	for i := range s.freezing {
		if f := &s.freezing[i]; f.job == j && f.took > 0 {
			cost := f.cost()
			j.costly = cost >= costlyStop
			s.order(realtime.Now(), ctxswitch.StopCost(j.ID, cost))
		}
	}
}
