package steward

import (
	"fmt"
	"score/nodeagent/launch"
	"score/nodeagent/pmi"
	"score/nodeagent/steward/life"
	"score/nodeagent/steward/stewardpb"
	"score/scored/api/agentpb"

	"golang.org/x/sys/unix"
)

// respawnState is the state of a rank that was started again.
type respawnState struct {
	incarnation int  // how often it was started again
	coming      bool // its process is being forked, and life does not know it yet
	last        *agentpb.RankExited
	spent       int64 // CPU time of the processes before this one, in nanoseconds
	resident    uint64
}

// allowRespawns permits restarts of a rank, which the rank has requested. From now on more output
// may come than the present ranks'.
func (s *steward) allowRespawns(k, times int) {
	s.life.AllowRespawns(k, times)
	if times > 0 {
		s.relay.Reopen()
	}
}

// respawn forks a rank again after all its processes have ended, on the same CPUs and into the same
// control group. If the gang is stopped, the rank starts when the gang continues.
func (s *steward) respawn(k, incarnation int) {
	r := &s.job.ranks[k]
	s.note(fmt.Sprintf("rank %d on node %s %s; it is started again (%d)", r.rank, s.job.node, howEnded(r), incarnation))
	r.spent += r.exited.GetCpuNanos()
	r.resident = max(r.resident, r.exited.GetMaxRssBytes())
	r.incarnation, r.coming, r.last, r.exited, r.process = incarnation, true, r.exited, nil, nil
	rank := int(r.rank)
	if s.job.pmi != nil {
		s.applyPMI(s.job.pmi.OnRespawned(rank, incarnation))
	}
	if s.job.pmix != nil {
		s.applyPMIx(s.job.pmix.server.OnRespawned(s.now(), rank, incarnation))
	}
	j := s.job
	s.help(func() {
		process, err := s.forkAgain(j, k)
		s.loop.Post(func() { s.onRespawnForked(k, incarnation, process, err) })
	})
}

func howEnded(r *localRank) string {
	if signal := r.exited.GetSignal(); signal != 0 {
		return fmt.Sprintf("was killed by signal %d (%s)", signal, unix.SignalName(unix.Signal(signal)))
	}
	return fmt.Sprintf("left with exit code %d", r.exited.GetExitCode())
}

// forkAgain makes the streams and the process.
func (s *steward) forkAgain(j *job, k int) (*launch.Process, error) {
	if s.stopForking.Load() {
		return nil, errStopped
	}
	if j.spec.GetStdinPattern() != "" {
		if err := launch.AsUser(j.user, func() error { return j.openInput(k) }); err != nil {
			return nil, err
		}
	}
	b := &batch{low: k, count: 1}
	defer b.closeChildren()
	if err := b.open(j); err != nil {
		return nil, err
	}
	s.loop.Post(func() { s.watchPMI(b.low, b.ports) })
	s.relay.AddRestarted(j.ranks[k].rank, b.outputs, b.sinks, j.openOutput)
	started, err := s.forker.StartAll(b.launchRanks(j))
	if err != nil {
		return nil, err
	}
	j.container.Started(started[0].Pid, started[0].Pid)
	return started[0], nil
}

// onRespawnForked records a rank that was started again, and may already have ended again.
func (s *steward) onRespawnForked(k, incarnation int, process *launch.Process, err error) {
	r := &s.job.ranks[k]
	if r.incarnation != incarnation {
		return // it was started again since
	}
	if err != nil {
		r.coming, r.exited, r.spent = false, r.last, r.spent-r.last.GetCpuNanos()
		s.life.RespawnFailed(s.now(), k, life.Abort{
			Rank: k, ExitCode: launch.ExitCode(err),
			Message: fmt.Sprintf("node %s: rank %d cannot be started again: %v", s.job.node, r.rank, err),
		})
		return
	}
	if r.exited == nil {
		r.process = process
	}
	s.onRespawned(k)
	s.send(rankFailureReport(&stewardpb.RankFailure{Rank: r.rank, Incarnation: uint32(incarnation), Pid: int32(process.Pid)}))
}

// onRespawned reports to life, once, a process that was started again.
func (s *steward) onRespawned(k int) {
	if r := &s.job.ranks[k]; r.coming {
		r.coming = false
		s.life.Respawned(s.now(), k)
	}
}

// loseRank lets the other ranks go on after the failure of a rank that does not end the job.
func (s *steward) loseRank(k int) {
	e, rank := s.engine(), int(s.job.ranks[k].rank)
	if e == nil || s.life.Killed() || !e.Survives(rank) || e.Phase(rank) == pmi.PhaseFinalized {
		return
	}
	s.withEngine(func(e *pmi.Engine) error { return e.Lost(rank, e.FencesGiven()) })
	if s.job.ranks[k].exited.GetSurvived() {
		s.send(rankFailureReport(&stewardpb.RankFailure{Rank: uint32(rank), Fences: e.FencesGiven()}))
	}
}

// onRankFailure handles the failure of a rank of another node.
func (s *steward) onRankFailure(m *stewardpb.RankFailure) {
	if s.job == nil || s.engine() == nil {
		return
	}
	if _, here := s.job.local[m.GetRank()]; here {
		return
	}
	rank := int(m.GetRank())
	s.withEngine(func(e *pmi.Engine) error {
		if n := int(m.GetIncarnation()); n > 0 {
			e.OnRespawned(rank, n)
			return nil
		}
		return e.Lost(rank, m.GetFences())
	})
}

func rankFailureReport(m *stewardpb.RankFailure) *stewardpb.FromSteward {
	return &stewardpb.FromSteward{Message: &stewardpb.FromSteward_RankFailure{RankFailure: m}}
}

func (s *steward) survivesLoss() bool { return s.job.spec.GetRecover() }
