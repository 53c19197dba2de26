package steward

import (
	"fmt"

	"golang.org/x/sys/unix"

	"score/nodeagent/launch"
	"score/nodeagent/steward/life"
	"score/nodeagent/steward/stewardpb"
	"score/scored/api/scorev1"
)

// startBatch is how many ranks are forked between two looks at whether to stop:
// some milliseconds of work, in which what they have in common is done once.
const startBatch = 16

// start forks the ranks, away from the loop: the first ones speak while the last
// are still to come.
func (s *steward) start() {
	s.helpers.Add(1)
	go func() {
		defer s.helpers.Done()
		s.forkAll(s.job)
		s.loop.post(func() { s.startEnded() })
	}()
}

func (s *steward) forkAll(j *job) {
	at := monotonicNanos()
	for low := 0; low < len(j.ranks) && !s.stopForking.Load(); low += startBatch {
		high := min(low+startBatch, len(j.ranks))
		batch := make([]launch.Rank, 0, startBatch)
		for k := low; k < high; k++ {
			batch = append(batch, j.launchRank(k))
		}
		started, err := s.forker.StartAll(batch)
		for i, p := range started {
			j.container.Started(p.Pid, p.Pid)
			j.ranks[low+i].child.close()
		}
		s.loop.post(func() { s.started(low, started, at) })
		if err == nil {
			continue
		}
		failed := low + len(started)
		s.loop.post(func() {
			s.life.StartFailed(s.now(), life.Abort{
				Rank: failed, ExitCode: launch.ExitCode(err), Message: fmt.Sprintf("node %s: %v", j.node, err)})
		})
		return
	}
}

// launchRank is local rank k as package launch wants it.
func (j *job) launchRank(k int) launch.Rank {
	r := &j.ranks[k]
	umask := j.spec.GetUmask()
	rank := launch.Rank{
		ID:       k,
		Path:     j.program,
		Argv:     j.spec.GetArgv(),
		Env:      j.rankEnv(k),
		Dir:      j.spec.GetWorkDir(),
		Stdin:    r.child.stdin,
		Stdout:   r.child.stdout,
		Stderr:   r.child.stderr,
		CPUs:     j.cpus(k),
		User:     j.user,
		CgroupFD: j.container.FD(),
		Limits:   j.limits,
		Umask:    &umask,
	}
	if r.child.pmi >= 0 {
		rank.Extra = []launch.FD{{File: r.child.pmi, Target: pmiTarget}}
	}
	return rank
}

// started notes a batch of ranks. Some may have ended, and been told of, before.
func (s *steward) started(low int, processes []*launch.Process, at int64) {
	for i, p := range processes {
		s.job.ranks[low+i].process = p
		s.life.Started(s.now(), low+i)
	}
	s.launchedAt = at
}

func (s *steward) startEnded() {
	for k := range s.job.ranks {
		s.job.ranks[k].child.close() // of ranks that were never forked
	}
	s.life.StartEnded(s.now())
	s.signalPending()
}

func (s *steward) reportLaunched() {
	launched := &scorev1.Launched{JobId: s.job.id, AtNanos: s.launchedAt}
	for k := range s.job.ranks {
		launched.Pids = append(launched.Pids, s.job.ranks[k].pid())
	}
	s.mail.launched = launched
	s.send(&stewardpb.FromSteward{Message: &stewardpb.FromSteward_Launched{Launched: launched}})
}

func (r *localRank) pid() int32 {
	if r.process == nil {
		return 0
	}
	return int32(r.process.Pid)
}

// monotonicNanos is the host's CLOCK_MONOTONIC, which the agent relates to the
// cluster's clock.
func monotonicNanos() int64 {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		return 0 // it exists on every Linux
	}
	return ts.Nano()
}
