package steward

import (
	"score/nodeagent/launch"
	"score/nodeagent/realtime"
	"score/nodeagent/steward/life"
	"score/nodeagent/steward/stewardpb"
	"score/scored/api/agentpb"
)

// start forks the ranks in a goroutine of its own: the loop serves the first ones while the last
// are still to come.
func (s *steward) start() {
	s.help(func() {
		whole := s.forkAll(s.job)
		at := realtime.Now()
		s.loop.Post(func() {
			if whole {
				s.phases.forked = at
			}
			s.startEnded()
		})
	})
}

// forkAll forks the ranks, and reports whether each has a process.
func (s *steward) forkAll(j *job) (whole bool) {
	j.makeShared()
	at := realtime.Now()
	for low := 0; low < len(j.ranks) && !s.stopForking.Load(); low += startBatch {
		b := &batch{low: low, count: min(startBatch, len(j.ranks)-low)}
		err := b.open(j)
		var started []*launch.Process
		if err == nil {
			s.passStreams(b)
			started, err = s.forker.StartAll(b.launchRanks(j))
		}
		b.closeChildren()
		for _, p := range started {
			j.container.Started(p.Pid, p.Pid)
		}
		s.loop.Post(func() { s.onStarted(low, started, at) })
		if err == nil {
			continue
		}
		failed := low + len(started)
		if j.spec.GetDetached() {
			s.relay.StoreLine(j.errorStream(failed), j.reasonLine(j.failure(err)))
		}
		s.loop.Post(func() {
			s.life.StartFailed(s.now(), life.Abort{Rank: failed, ExitCode: launch.ExitCode(err), Message: j.failure(err)})
		})
		return false
	}
	return !s.stopForking.Load()
}

// passStreams gives the steward's ends of a batch's streams to the loops,
// before the ranks can end.
func (s *steward) passStreams(b *batch) {
	s.loop.Post(func() { s.watchPMI(b.low, b.ports) })
	s.relay.Add(b.outputs, b.sinks)
}

// onStarted records a batch of ranks. Some may have ended, and been reported, before.
func (s *steward) onStarted(low int, processes []*launch.Process, at int64) {
	for i, p := range processes {
		s.job.ranks[low+i].process = p
		s.life.Started(s.now(), low+i)
	}
	s.launchedAt = at
}

func (s *steward) startEnded() {
	if s.endpoint() != nil && s.job.pmi == nil {
		s.makeSession() // now they do not wait for it
	}
	if s.job.silent || s.job.pmix != nil && s.job.pmi == nil { // it looks like MPI, or can speak nothing else
		s.probePaths()
	}
	s.job.closeInputs(0) // of ranks that were never forked
	if s.job.spec.GetRespawn() > 0 {
		s.relay.InputComplete() // Complete follows when no process will start any more
	} else {
		s.relay.Complete()
	}
	s.life.StartEnded(s.now())
	s.signalPending()
}

func (s *steward) reportLaunched() {
	launched := &agentpb.Launched{JobId: s.job.id, AtNanos: s.launchedAt, Start: s.phases.message()}
	for k := range s.job.ranks {
		launched.Pids = append(launched.Pids, s.job.ranks[k].pid())
	}
	s.outbox.launched = launched
	s.send(&stewardpb.FromSteward{Message: &stewardpb.FromSteward_Launched{Launched: launched}})
}

func (r *localRank) pid() int32 {
	if r.process == nil {
		return 0
	}
	return int32(r.process.Pid)
}
