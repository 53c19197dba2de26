package nodeagent

import (
	"fmt"
	"score/ctxswitch"
	"score/nodeagent/dataplane"
	"score/nodeagent/jobstate"
	"score/nodeagent/metrics"
	"score/nodeagent/steward/stewardpb"
	"score/nodeagent/switcher"
	"score/scored/api/scorev1"
	"score/scored/failpoint"
	"time"

	"go.uber.org/zap"
)

// hear takes one message of the job's steward; the next comes when it returns.
func (j *job) hear(message *stewardpb.FromSteward) {
	switch m := message.GetMessage().(type) {
	case *stewardpb.FromSteward_Prepared:
		j.hearPrepared(m.Prepared)
	case *stewardpb.FromSteward_Launched:
		j.hearLaunched(m.Launched)
	case *stewardpb.FromSteward_RankExited:
		j.hearExited(m.RankExited)
	case *stewardpb.FromSteward_RankFailure:
		j.hearRankNews(m.RankFailure)
	case *stewardpb.FromSteward_NodeDone:
		j.account.Started(m.NodeDone.GetStart())
		j.account.SetUsage(m.NodeDone.GetUsage())
		j.step(jobstate.Done)
	case *stewardpb.FromSteward_Abort:
		m.Abort.JobId = j.id
		if m.Abort.GetAtNanos() != 0 {
			m.Abort.AtNanos = j.agent.clock.Cluster(m.Abort.GetAtNanos())
		}
		j.outbox.Send(&scorev1.AgentMessage{Message: &scorev1.AgentMessage_Abort{Abort: m.Abort}}, true)
	case *stewardpb.FromSteward_Note:
		j.note(m.Note.GetText())
	case *stewardpb.FromSteward_Name:
		m.Name.JobId = j.id
		j.outbox.Send(&scorev1.AgentMessage{Message: &scorev1.AgentMessage_Name{Name: m.Name}}, true)
	case *stewardpb.FromSteward_Spawn:
		m.Spawn.JobId = j.id
		j.outbox.Send(&scorev1.AgentMessage{Message: &scorev1.AgentMessage_Spawn{Spawn: m.Spawn}}, true)
	case *stewardpb.FromSteward_Relay:
		j.hearRelay(m.Relay)
	case *stewardpb.FromSteward_Places:
		m.Places.JobId = j.id
		j.outbox.Send(&scorev1.AgentMessage{Message: &scorev1.AgentMessage_Places{Places: m.Places}}, true)
	case *stewardpb.FromSteward_Collective:
		j.hearCollective(m.Collective)
	case *stewardpb.FromSteward_Fences:
		j.account.CountFences(m.Fences)
	case *stewardpb.FromSteward_PartLost:
		j.hearPartLost(m.PartLost)
	case *stewardpb.FromSteward_RankStates:
		m.RankStates.GangOn, m.RankStates.JobId = j.on(), j.id
		m.RankStates.Start = j.account.Started(m.RankStates.GetStart())
		j.outbox.Send(&scorev1.AgentMessage{Message: &scorev1.AgentMessage_RankStates{RankStates: m.RankStates}}, false)
	case *stewardpb.FromSteward_Status, *stewardpb.FromSteward_Output, *stewardpb.FromSteward_Drained:
		// The first answers Dial; the others have connections of their own.
	}
}

func (j *job) hearPrepared(m *scorev1.Prepared) {
	m.JobId, m.Start = j.id, j.account.Started(m.GetStart())
	message := &scorev1.AgentMessage{Message: &scorev1.AgentMessage_Prepared{Prepared: m}}
	if m.GetExitCode() != 0 || m.GetError() != "" {
		j.refused(message)
		return
	}
	_ = failpoint.Hit(failpoint.PrepareEnd) // cannot fail
	j.step(jobstate.Prepared)
	j.outbox.Send(message, true)
}

// hearLaunched tells the switching thread first: a gang whose slice is over
// must stop.
func (j *job) hearLaunched(m *scorev1.Launched) {
	_ = failpoint.Hit(failpoint.LaunchEnd) // cannot fail
	steward := j.stewardOf()
	for _, pid := range m.GetPids() {
		steward.Container.Started(int(pid), int(pid)) // every rank leads its process group
	}
	j.current(func(s *switcher.Switcher, id ctxswitch.JobID) { s.Launched(id) })
	j.withChannels(func(c *dataplane.Job) { c.Launched(m.GetPids()) })
	m.JobId, m.AtNanos = j.id, j.agent.clock.Cluster(m.GetAtNanos())
	m.Start = j.account.Started(m.GetStart())
	j.step(jobstate.Forked)
	j.outbox.Send(&scorev1.AgentMessage{Message: &scorev1.AgentMessage_Launched{Launched: m}}, true)
	j.settled()
	j.agent.metrics.Add(metrics.Launches, 1)
}

func (j *job) hearExited(m *scorev1.RankExited) {
	_ = failpoint.Hit(failpoint.ExitReport) // cannot fail
	j.withChannels(func(c *dataplane.Job) { c.Ended(m.GetRank()) })
	m.JobId, m.AtNanos = j.id, j.agent.clock.Cluster(m.GetAtNanos())
	j.exited(m.GetRank())
	j.outbox.Send(&scorev1.AgentMessage{Message: &scorev1.AgentMessage_RankExited{RankExited: m}}, true)
	j.agent.metrics.Add(exitKind(m), 1)
	j.group.RankExited(m)
}

// hearRankNews hears of a rank that has failed while the job goes on.
func (j *job) hearRankNews(m *stewardpb.RankFailure) {
	if pid := int(m.GetPid()); pid != 0 {
		if container := j.stewardOf().Container; container.FD() < 0 { // into a cgroup processes are born as it stands
			container.Started(pid, pid)
			j.current(func(s *switcher.Switcher, id ctxswitch.JobID) { s.Respawned(id) })
		}
		j.withChannels(func(c *dataplane.Job) { c.Respawned(m.GetRank(), m.GetPid()) })
		j.agent.metrics.Add(metrics.Respawns, 1)
	}
	j.group.RankNews(m)
}

func exitKind(m *scorev1.RankExited) metrics.ID {
	switch {
	case m.GetByUs():
		return metrics.ExitsKilled
	case m.GetOutOfMemory():
		return metrics.ExitsMemory
	case m.GetSignal() != 0:
		return metrics.ExitsSignal
	case m.GetExitCode() != 0:
		return metrics.ExitsCode
	default:
		return metrics.ExitsClean
	}
}

// note tells the user something, once.
func (j *job) note(text string) {
	j.outbox.Note(&scorev1.AgentMessage{Message: &scorev1.AgentMessage_Note{Note: &scorev1.JobNote{JobId: j.id, Text: text}}})
}

// notices passes on what the switching thread has to say, until it is closed.
func (a *Agent) notices(stop <-chan struct{}) {
	for {
		select {
		case n := <-a.switcher.Notices():
			if j := a.jobs.Get(uint64(n.Job)); j != nil {
				j.notice(n)
			}
		case <-stop:
			return
		}
	}
}

func (j *job) notice(n switcher.Notice) {
	log := j.agent.log.With(zap.Uint64("job", j.id))
	switch n.Kind {
	case switcher.NoticeTimeUp:
		j.outbox.Send(&scorev1.AgentMessage{Message: &scorev1.AgentMessage_TimeUp{TimeUp: &scorev1.TimeUp{JobId: j.id}}}, true)
	case switcher.NoticeWarn:
		log.Info("job does not stop in time", zap.Int("times", n.Late))
		j.note(fmt.Sprintf("node %s: the job's processes did not stop in time when its slice was over, %d times in a row; "+
			"other jobs lose that time (are they stuck in a system call?)", j.agent.options.Name, n.Late))
	case switcher.NoticeLaunchFailed:
		log.Warn("job could not be launched", zap.Error(n.Err))
		j.stewardOf().KillProcess() // stewardGone ends the job, on all nodes
	case switcher.NoticeFailed:
		log.Warn("job cannot be switched", zap.Error(n.Err))
	}
}

// timeLimit is how long the job may be on. One node of the job watches.
func (j *job) timeLimit() time.Duration {
	if j.order.GetNodeIndex() != 0 {
		return 0
	}
	return time.Duration(max(j.order.GetSpec().GetTimeLimitNanos(), 0))
}
