package nodeagent

import (
	"context"
	"score/nodeagent/clock"
	"score/nodeagent/hardware"
	"score/nodeagent/idlewatch"
	"score/nodeagent/jobs"
	"score/nodeagent/peers"
	"score/nodeagent/realtime"
	"score/nodeagent/timekeeper"
	"score/nodeagent/uplink"
)

// newJobs makes the part of the agent that holds the jobs, once everything that it needs exists.
func (a *Agent) newJobs(forced context.Context) *jobs.Jobs {
	return jobs.New(jobs.Options{
		Node: jobs.Node{
			Name:       a.options.Name,
			Address:    a.address,
			BootID:     a.bootID,
			CPUs:       a.cpuIDs,
			SharesCPUs: a.options.SharesCPUs,
			Cluster:    a.options.Cluster,
			ClusterKey: a.options.ClusterKey,
		},
		Leader:   a.link,
		Switcher: a.switcher,
		Pool:     a.pool,
		Plane:    a.plane,
		Peers:    a.peers,
		Files:    a.files,
		Dirs:     a.dirs,
		Hardware: hardware.New(hardware.Options{
			Path: a.hardwarePath(), Go: a.workers.Go, Running: a.running, Logger: a.log,
		}),
		Clock:      a.clock,
		Metrics:    a.metrics,
		Logger:     a.log,
		CheckReach: a.checkReach,
		Examined:   a.idle.Examined,
		Go:         a.workers.Go,
		Running:    a.running,
		Forced:     forced,
	})
}

func (a *Agent) newIdleWatch() *idlewatch.Watcher {
	return idlewatch.New(idlewatch.Options{
		Jobs: func() []idlewatch.Job {
			all := a.jobs.All()
			list := make([]idlewatch.Job, len(all))
			for i, j := range all {
				list[i] = j
			}
			return list
		},
		Job: func(id uint64) idlewatch.Job {
			if j := a.jobs.Get(id); j != nil {
				return j
			}
			return nil
		},
		Connected:   a.link.Connected,
		Contexts:    func() int { return a.plane.Contexts() }, // there is none yet
		ClusterTime: a.clock.Cluster,
	})
}

// newLink makes the stream to the leader.
func (a *Agent) newLink() *uplink.Link {
	return uplink.New(uplink.Options{
		Servers:       withKnownServers(a.options),
		Learnt:        a.saveServers,
		Client:        a.servers,
		ClientOptions: peers.ClientOptions(),
		Revoked:       a.revocationCheck(),
		Hello:         a.hello,
		Handler:       leaderHandler{a},
		Clock:         heartbeats{a.clock, a},
		Problems:      a.problems,
		Now:           realtime.Now,
		Logger:        a.log,
	})
}

// heartbeats is the uplink's Clock. Each answered heartbeat renews the leases of the jobs.
type heartbeats struct {
	*timekeeper.Keeper
	agent *Agent
}

// Sample records a heartbeat's round trip.
func (h heartbeats) Sample(term uint64, sent int64, s clock.Sample) {
	h.Keeper.Sample(term, s)
	h.agent.jobs.RenewLeases(sent)
}
