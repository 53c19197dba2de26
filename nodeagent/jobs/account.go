package jobs

import (
	"math"
	"score/channels/node"
	"score/ctxswitch"
	"score/nodeagent/dataplane"
	"score/nodeagent/idlewatch"
	"score/nodeagent/jobaccount"
	"score/nodeagent/metrics"
	"score/nodeagent/switcher"
	"score/scored/api/scorev1"
)

// allContexts reads all contexts, for the usage at the job's end.
const allContexts = math.MaxInt

// messages counts the messages of the job's ranks here, after reading at most the given number of
// their contexts; nil if they never had one.
func (j *Job) messages(contexts int) (m *scorev1.Messages) {
	j.withChannels(func(c *dataplane.Job) { m = c.Messages(contexts) })
	return m
}

// Usage returns the switching thread's measurements of a job and, if the job is still here, the
// resources that its ranks have used.
func (js *Jobs) Usage(id uint64, measured switcher.Usage) *scorev1.Usage {
	usage := &scorev1.Usage{}
	setSwitching(usage, measured)
	j := js.Get(id)
	if j == nil {
		return usage
	}
	usage.Messages, usage.Fences = j.messages(node.MaxAccounted), j.account.Fences()
	j.Use(func(p idlewatch.Part) {
		if cpu, err := p.CPUTime(); err == nil {
			usage.CpuNanos = max(cpu.Nanoseconds(), 0)
		}
		if pids, err := p.Pids(); err == nil {
			usage.MaxRssBytes = jobaccount.Largest(pids)
		}
	})
	return usage
}

// addSwitching removes the job from the switching thread and adds the thread's measurements. After
// that the thread does not touch the job's container.
func (j *Job) addSwitching(usage *scorev1.Usage) {
	var answer <-chan switcher.Usage
	j.withSwitcher(func(s *switcher.Switcher, id ctxswitch.JobID) { answer = s.Remove(id) })
	if answer != nil {
		setSwitching(usage, <-answer)
	}
}

func setSwitching(to *scorev1.Usage, from switcher.Usage) {
	to.RunNanos = from.Ran.Nanoseconds()
	to.Slices = from.Slices
	to.LateFreezes = from.LateFreezes
	to.SwitchNanos = from.Switching.Nanoseconds()
}

// countKeys counts the bytes of keys in fences, before and after they were packed.
func (js *Jobs) countKeys(plain, packed uint64) {
	js.options.Metrics.Add(metrics.KeyBytesPlain, plain)
	js.options.Metrics.Add(metrics.KeyBytesPacked, packed)
}
