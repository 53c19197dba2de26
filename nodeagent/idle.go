package nodeagent

import (
	"score/nodeagent/idlewatch"
)

func newIdleWatch(a *Agent) *idlewatch.Watcher {
	return idlewatch.New(idlewatch.Options{
		Jobs: func() []idlewatch.Job {
			all := a.jobs.All()
			jobs := make([]idlewatch.Job, len(all))
			for i, j := range all {
				jobs[i] = j
			}
			return jobs
		},
		Job: func(id uint64) idlewatch.Job {
			if j := a.jobs.Get(id); j != nil {
				return j
			}
			return nil
		},
		Connected:   a.connected.Load,
		Contexts:    func() int { return a.plane.Contexts() }, // there is none yet
		ClusterTime: func(local int64) int64 { return a.clock.Cluster(local) },
	})
}
