package clocks

import (
	"score/scored/api/scorev1"
	"score/tests/daemons"
	"slices"
	"testing"
	"time"

	"connectrpc.com/connect"
)

// Clocks of the server's host and of agents' are stepped by an hour, forward and back, while gangs
// take turns: nothing is lost, ends or stands still for that, and limits on run time, leases,
// accounts and history go by what time has passed.
func TestStepped(t *testing.T) {
	s := newScene(t, 1, 2)
	leased := s.submit(func(j *scorev1.JobSpec) { j.Name, j.Requeue = "leased", true })
	limited := s.submit(func(j *scorev1.JobSpec) { j.Name, j.TimeLimitNanos = "limited", (30 * time.Minute).Nanoseconds() })
	timed := s.submit(func(j *scorev1.JobSpec) { j.Name, j.TimeLimitNanos = "timed", (time.Second / 2).Nanoseconds() })
	turns, err := s.Turns(s.Ctx, s.gangs...)
	s.Check(err)
	began := time.Now()
	s.unnoticed(func() {
		for _, d := range []*daemons.Daemon{s.Server, s.Agents[0]} {
			for _, by := range []time.Duration{time.Hour, -2 * time.Hour, time.Hour} {
				s.step(d, by)
				s.goOn()
			}
		}
	})
	s.runs()
	s.timeUp(timed)
	s.tookTurns(turns, began)
	s.sees(s.Agents[1])
	s.untouched(leased)
	s.Cancel(leased) // a busy machine may be without a server for longer than its lease

	for _, by := range []time.Duration{time.Hour, -2 * time.Hour} {
		s.serverAnew(by)
		s.goOn()
		s.runs()
		s.untouched(limited)
	}
	s.historyInOrder()
	s.Cancel(limited)
	s.End(s.gangs...)
}

// stoodStill is what part, in percent, of a time in which agents would have stood still may be that
// by which slices were too long: nearly all, as a busy machine makes some longer.
const stoodStill = 80

// tookTurns reports that gangs have had their slices since an instant: agents that stood still
// would have let one gang run all the time.
func (s *scene) tookTurns(turns *daemons.Turns, since time.Time) {
	s.T.Helper()
	overlong, err := turns.Overlong(s.Ctx, slice)
	s.Check(err)
	took := time.Since(since)
	s.T.Logf("in %v slices were too long by %v", took, overlong)
	if overlong > took*stoodStill/100 {
		s.T.Errorf("gangs did not take turns: in %v their slices were too long by %v", took, overlong)
	}
}

// unnoticed reports that no node is lost, nor silent for a while, for what is done. A busy machine
// may keep one silent for seconds whatever is done, so that it is done again.
func (s *scene) unnoticed(do func()) {
	s.T.Helper()
	const tries = 4
	var since, after []int64
	for range tries {
		since = s.upSince()
		do()
		if after = s.upSince(); slices.Equal(after, since) {
			return
		}
	}
	s.T.Errorf("the nodes are up since %v; they were up since %v", after, since)
}

// upSince tells since when the nodes are up, as the server says.
func (s *scene) upSince() (since []int64) {
	s.T.Helper()
	s.Check(s.AwaitUp(s.Ctx))
	reply, err := s.Client.Cluster.ListNodes(s.Ctx, connect.NewRequest(new(scorev1.ListNodesRequest)))
	s.Check(err)
	for _, n := range reply.Msg.GetNodes() {
		since = append(since, n.GetSinceNanos())
	}
	return since
}

// sees reports that the cluster sees by how much a node's clock is off: the daemons do have clocks
// of their own.
func (s *scene) sees(d *daemons.Daemon) {
	s.T.Helper()
	for _, by := range []time.Duration{time.Hour, -time.Hour} {
		s.step(d, by)
		s.Await("the node's clock is seen to be off", func() bool {
			reply, err := s.Client.Cluster.ListNodes(s.Ctx, connect.NewRequest(new(scorev1.ListNodesRequest)))
			if err != nil {
				return false
			}
			for _, n := range reply.Msg.GetNodes() {
				if n.GetName() == d.Name {
					// The cluster's clock went on when the clocks were set to the present.
					off := time.Duration(n.GetWallOffsetNanos()) - d.Clock.Offset()
					return off.Abs() < near
				}
			}
			return false
		})
	}
}

// timeUp reports that a job has ended for want of run time, when it had that.
func (s *scene) timeUp(id uint64) {
	s.T.Helper()
	var job *scorev1.Job
	s.Await("the job's time is up", func() bool {
		job = s.job(id)
		return job.GetState() == scorev1.JobState_JOB_STATE_DONE
	})
	if job.GetVerdict().GetReason() != scorev1.EndReason_END_REASON_TIME_LIMIT || job.GetUsage().GetRunNanos() < job.GetSpec().GetTimeLimitNanos() {
		s.T.Errorf("job %d ended with %v, having used %v", id, job.GetVerdict(), job.GetUsage())
	}
}

// serverAnew kills the server, steps its clock, and starts it: the cluster's clock follows its
// host's forward, and not back; who has used what is remembered.
func (s *scene) serverAnew(by time.Duration) {
	s.T.Helper()
	before, used := s.now(), s.recent()
	turns, err := s.Turns(s.Ctx, s.gangs...)
	s.Check(err)
	s.Server.Kill()
	s.step(s.Server, by)
	shows := s.Server.Clock.Now()
	s.Check(turns.AwaitTurns(s.Ctx, 5)) // nobody is there who could tell the agents to switch
	s.Check(s.Server.Start())
	s.Check(s.AwaitUp(s.Ctx))
	after := s.now()
	want := before
	if shows.After(want) {
		want = shows
	}
	// It goes on from the last entry of the log, which may be some seconds old.
	if off := after.Sub(want).Abs(); off > near {
		s.T.Errorf("the cluster's clock said %v, the server's host says %v: after a step of %v the cluster's says %v", before, shows, by, after)
	}
	// An hour, or a day, of a half-life of a week.
	if now := s.recent(); now < used*8/10 || now > used+uint64(near.Microseconds()) {
		s.T.Errorf("after a step of %v a user has used %d us, and had used %d us", by, now, used)
	}
}

// now is the cluster's clock.
func (s *scene) now() time.Time {
	s.T.Helper()
	reply, err := s.Client.Cluster.ListNodes(s.Ctx, connect.NewRequest(new(scorev1.ListNodesRequest)))
	s.Check(err)
	return time.Unix(0, reply.Msg.GetNowNanos())
}

// recent is what this user has used lately, in microseconds of CPUs. It waits until there is
// something.
func (s *scene) recent() (recent uint64) {
	s.T.Helper()
	s.Await("something was used", func() bool {
		reply, err := s.Client.Cluster.ListUsers(s.Ctx, connect.NewRequest(&scorev1.ListUsersRequest{User: "0"}))
		if err != nil || len(reply.Msg.GetUsers()) != 1 {
			return false
		}
		recent = reply.Msg.GetUsers()[0].GetRecentMicros()
		return recent > 0
	})
	return recent
}

// untouched reports that a job runs, in its first attempt.
func (s *scene) untouched(id uint64) {
	s.T.Helper()
	if job := s.job(id); job.GetState() != scorev1.JobState_JOB_STATE_RUNNING || job.GetRestarts() != 0 {
		s.T.Errorf("job %d: %v after %d restarts, %v", id, job.GetState(), job.GetRestarts(), job.GetVerdict())
	}
}

// historyInOrder reports that no job ended before it began, nor ran for longer than it took.
func (s *scene) historyInOrder() {
	s.T.Helper()
	jobs := 0
	for job, err := range s.History(s.Ctx, new(scorev1.GetHistoryRequest)) {
		s.Check(err)
		jobs++
		took := job.GetEndedNanos() - job.GetStartedNanos()
		if job.GetStartedNanos() < job.GetSubmittedNanos() || took < 0 || job.GetUsage().GetRunNanos() > took+near.Nanoseconds() {
			s.T.Errorf("job %d: submitted at %d, started at %d, ended at %d, ran for %d", job.GetId(), job.GetSubmittedNanos(),
				job.GetStartedNanos(), job.GetEndedNanos(), job.GetUsage().GetRunNanos())
		}
	}
	if jobs == 0 {
		s.T.Error("no job has ended")
	}
}
