package jobs

import (
	"fmt"
	"score/ctxswitch"
	"score/nodeagent/dataplane"
	"score/nodeagent/fence"
	"score/nodeagent/jobstate"
	"score/nodeagent/metrics"
	"score/nodeagent/steward/stewardpb"
	"score/nodeagent/stewardpool"
	"score/nodeagent/switcher"
	"score/scored/api/agentpb"
	"score/scored/api/scorev1"
	"score/scored/failpoint"
	"time"

	"go.uber.org/zap"
)

// onMessage handles one message of the job's steward; the next comes when it returns.
func (j *Job) onMessage(message *stewardpb.FromSteward) {
	switch m := message.GetMessage().(type) {
	case *stewardpb.FromSteward_Prepared:
		j.onPrepared(m.Prepared)
	case *stewardpb.FromSteward_Launched:
		j.onLaunched(m.Launched)
	case *stewardpb.FromSteward_RankExited:
		j.onRankExited(m.RankExited)
	case *stewardpb.FromSteward_RankFailure:
		j.onRankFailure(m.RankFailure)
	case *stewardpb.FromSteward_NodeDone:
		j.account.Started(m.NodeDone.GetStart())
		j.account.SetUsage(m.NodeDone.GetUsage())
		j.step(jobstate.Done)
	case *stewardpb.FromSteward_Abort:
		m.Abort.JobId = j.id
		if m.Abort.GetAtNanos() != 0 {
			m.Abort.AtNanos = j.options.Clock.Cluster(m.Abort.GetAtNanos())
		}
		j.outbox.Keep(&agentpb.AgentMessage{Message: &agentpb.AgentMessage_Abort{Abort: m.Abort}})
	case *stewardpb.FromSteward_Note:
		m.Note.JobId = j.id
		j.outbox.Note(&agentpb.AgentMessage{Message: &agentpb.AgentMessage_Note{Note: m.Note}})
	case *stewardpb.FromSteward_Name:
		m.Name.JobId = j.id
		j.outbox.Keep(&agentpb.AgentMessage{Message: &agentpb.AgentMessage_Name{Name: m.Name}})
	case *stewardpb.FromSteward_Spawn:
		m.Spawn.JobId = j.id
		j.outbox.Keep(&agentpb.AgentMessage{Message: &agentpb.AgentMessage_Spawn{Spawn: m.Spawn}})
	case *stewardpb.FromSteward_Relay:
		j.onRelay(m.Relay)
	case *stewardpb.FromSteward_Places:
		m.Places.JobId = j.id
		j.outbox.Keep(&agentpb.AgentMessage{Message: &agentpb.AgentMessage_Places{Places: m.Places}})
	case *stewardpb.FromSteward_Collective:
		j.onCollective(m.Collective)
	case *stewardpb.FromSteward_Fences:
		j.account.CountFences(m.Fences)
	case *stewardpb.FromSteward_PartLost:
		j.onPartLost(m.PartLost)
	case *stewardpb.FromSteward_RankStates:
		m.RankStates.GangOn, m.RankStates.JobId = j.gangOn(), j.id
		m.RankStates.Start = j.account.Started(m.RankStates.GetStart())
		j.outbox.Send(&agentpb.AgentMessage{Message: &agentpb.AgentMessage_RankStates{RankStates: m.RankStates}})
	case *stewardpb.FromSteward_Examined:
		j.options.Examined(j.id, m.Examined.GetRequest(), m.Examined.GetWakeSource())
	case *stewardpb.FromSteward_HardwareWanted:
		j.options.Hardware.Want()
	case *stewardpb.FromSteward_Status, *stewardpb.FromSteward_Output, *stewardpb.FromSteward_Drained:
		// Status answers Dial; the others come on connections of their own.
	}
}

func (j *Job) onPrepared(m *agentpb.Prepared) {
	m.JobId, m.Start = j.id, j.account.Started(m.GetStart())
	message := &agentpb.AgentMessage{Message: &agentpb.AgentMessage_Prepared{Prepared: m}}
	if m.GetExitCode() != 0 || m.GetError() != "" {
		j.refuse(message)
		return
	}
	_ = failpoint.Hit(failpoint.PrepareEnd) // cannot fail
	j.step(jobstate.Prepared)
	j.outbox.Keep(message)
}

// onLaunched informs the switching thread first: a gang whose slice is over must stop.
func (j *Job) onLaunched(m *agentpb.Launched) {
	_ = failpoint.Hit(failpoint.LaunchEnd) // cannot fail
	steward := j.stewardOf()
	for _, pid := range m.GetPids() {
		steward.Container.Started(int(pid), int(pid)) // every rank leads its process group
	}
	j.withSwitcher(func(s *switcher.Switcher, id ctxswitch.JobID) { s.Launched(id) })
	j.withChannels(func(c *dataplane.Job) { c.Launched(m.GetPids()) })
	m.JobId, m.AtNanos = j.id, j.options.Clock.Cluster(m.GetAtNanos())
	m.Start = j.account.Started(m.GetStart())
	j.step(jobstate.Forked)
	j.outbox.Keep(&agentpb.AgentMessage{Message: &agentpb.AgentMessage_Launched{Launched: m}})
	j.endLaunch()
	j.options.Metrics.Add(metrics.Launches, 1)
}

func (j *Job) onRankExited(m *agentpb.RankExited) {
	_ = failpoint.Hit(failpoint.ExitReport) // cannot fail
	j.withChannels(func(c *dataplane.Job) { c.Ended(m.GetRank()) })
	m.JobId, m.AtNanos = j.id, j.options.Clock.Cluster(m.GetAtNanos())
	j.rankExited(m.GetRank())
	j.outbox.Keep(&agentpb.AgentMessage{Message: &agentpb.AgentMessage_RankExited{RankExited: m}})
	j.options.Metrics.Add(exitKind(m), 1)
	j.group.RankExited(m)
}

// onRankFailure handles the failure or the new start of a rank while the job goes on.
func (j *Job) onRankFailure(m *stewardpb.RankFailure) {
	if pid := int(m.GetPid()); pid != 0 {
		if container := j.stewardOf().Container; container.FD() < 0 { // in a control group, a new process is frozen with its group
			container.Started(pid, pid)
			j.withSwitcher(func(s *switcher.Switcher, id ctxswitch.JobID) { s.Respawned(id) })
		}
		j.withChannels(func(c *dataplane.Job) { c.Respawned(m.GetRank(), m.GetPid()) })
		j.options.Metrics.Add(metrics.Respawns, 1)
	}
	j.group.RankFailure(m)
}

func exitKind(m *agentpb.RankExited) metrics.ID {
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

// onCollective handles the piece of this node's ranks for a collective.
func (j *Job) onCollective(m *stewardpb.Collective) {
	op := fence.Op{Kind: fence.Kind(m.GetKind()), Seq: m.GetSequence()}
	if !j.order.GetFencesByMessage() { // otherwise the steward counts
		j.account.CountFences(&scorev1.Fences{Fences: m.GetSequence(), PlainBytes: m.GetPlainBytes(), PackedBytes: m.GetPackedBytes()})
	}
	if j.group != nil {
		j.group.Add(op, m.GetData())
		return
	}
	// One node: its piece is the result.
	j.withSteward(func(s *stewardpool.Steward) error {
		return s.Collective(&stewardpb.CollectiveResult{Kind: m.GetKind(), Sequence: m.GetSequence(), Data: [][]byte{m.GetData()}})
	})
}

// onPartLost informs the other nodes that the job's steward cannot reach one of their stewards.
func (j *Job) onPartLost(m *stewardpb.PartLost) {
	if int64(m.GetNodeIndex()) >= int64(len(j.order.GetPlaces())) {
		return
	}
	j.options.Logger.Warn("a node of a job cannot be reached", zap.Uint64("job", j.id),
		zap.String("peer", j.order.GetPlaces()[m.GetNodeIndex()].GetNode()), zap.String("reason", m.GetReason()))
	j.group.PartLost(int(m.GetNodeIndex()), m.GetReason())
}

func (j *Job) onNotice(n switcher.Notice) {
	log := j.options.Logger.With(zap.Uint64("job", j.id))
	switch n.Kind {
	case switcher.NoticeTimeUp:
		j.outbox.Keep(&agentpb.AgentMessage{Message: &agentpb.AgentMessage_TimeUp{TimeUp: &agentpb.TimeUp{JobId: j.id}}})
	case switcher.NoticeTimeNear:
		j.outbox.Keep(&agentpb.AgentMessage{Message: &agentpb.AgentMessage_TimeNear{TimeNear: &agentpb.TimeNear{JobId: j.id}}})
	case switcher.NoticeWarn:
		log.Info("job does not stop in time", zap.Int("times", n.Late))
		j.Note(fmt.Sprintf("node %s: the job's processes did not stop in time when its slice was over, %d times in a row; "+
			"other jobs lose that time (is one stuck in a system call?)", j.options.Node.Name, n.Late))
	case switcher.NoticeCostly:
		log.Info("stopping a job takes long", zap.Duration("cost", n.Cost), zap.Duration("slice", n.Slice))
		j.Note(costlySentence(j.options.Node.Name, n.Cost, n.Slice))
	case switcher.NoticeLaunchFailed:
		log.Warn("job could not be launched", zap.Error(n.Err))
		j.stewardOf().KillProcess() // onStewardLost ends the job, on all nodes
	case switcher.NoticeFailed:
		log.Warn("job cannot be switched", zap.Error(n.Err))
	}
}

// costlySentence tells the job's user what the stops of the job cost it.
func costlySentence(node string, cost, slice time.Duration) string {
	return fmt.Sprintf("node %s: stopping and continuing the job's threads takes %v of each slice of %v, so that it runs less: "+
		"it is stopped that much earlier, and sits slices out if they are too short for that; "+
		"let it have fewer threads and processes", node, cost.Round(time.Millisecond/10), slice)
}
