package nodeagent

import (
	"score/ctxswitch"
	"score/nodeagent/stewardpool"
	"score/scored/api/scorev1"
	"score/scored/failpoint"
	"time"

	"go.uber.org/zap"
)

// leaderOrders does what the leader says; it is the uplink's Handler. Nothing
// in it waits for long, since the heartbeat comes by the same stream.
type leaderOrders struct{ *Agent }

// Welcome ends what the leader does not know, and tells the rest again.
func (a leaderOrders) Welcome(welcome *scorev1.Welcome) {
	keep := make(map[uint64]bool, len(welcome.GetKeepJobs()))
	for _, id := range welcome.GetKeepJobs() {
		keep[id] = true
	}
	for _, j := range a.jobs.All() {
		if keep[j.id] {
			j.outbox.Repeat()
			continue
		}
		a.log.Info("the leader does not know a job; it is ended", zap.Uint64("job", j.id))
		a.forget(j.id)
	}
	// Files of jobs that wait are told of again.
	here := func(job uint64) bool { return a.jobs.Get(job) != nil }
	a.files.ReleaseBut(here)
	a.idle.ReportAgain()
	a.watcher.ReportAgain()
	a.connected.Store(true)
	a.log.Info("connected to the leader", zap.Uint64("term", welcome.GetTerm()))
}

// Lost leaves everything as it is: time sharing goes on by the plan.
func (a leaderOrders) Lost() {
	a.connected.Store(false)
	a.log.Info("connection to the leader lost")
}

// Message obeys one message.
func (a leaderOrders) Message(message *scorev1.ServerMessage) {
	switch m := message.GetMessage().(type) {
	case *scorev1.ServerMessage_Prepare:
		_ = failpoint.Hit(failpoint.PrepareArrived) // cannot fail
		a.prepare(m.Prepare)
	case *scorev1.ServerMessage_Stage:
		a.files.FetchEarly(a.working, m.Stage)
	case *scorev1.ServerMessage_Plan:
		_ = failpoint.Hit(failpoint.PlanArrived) // cannot fail
		a.idle.Planned(m.Plan)
		a.switcher.Plan(planOf(m.Plan))
	case *scorev1.ServerMessage_Kill:
		a.kill(m.Kill)
	case *scorev1.ServerMessage_Signal:
		a.signal(m.Signal)
	case *scorev1.ServerMessage_Forget:
		a.forget(m.Forget.GetJobId())
	case *scorev1.ServerMessage_Name:
		a.nameReply(m.Name)
	case *scorev1.ServerMessage_Spawn:
		a.spawnReply(m.Spawn)
	case *scorev1.ServerMessage_Places:
		a.placesReply(m.Places)
	case *scorev1.ServerMessage_AskRankStates:
		a.askRankStates(m.AskRankStates)
	case *scorev1.ServerMessage_Revoked:
		a.takeRevoked(m.Revoked)
	case *scorev1.ServerMessage_AskChannels:
		a.askChannels(m.AskChannels)
	case *scorev1.ServerMessage_PartGone:
		a.partGone(m.PartGone)
	case *scorev1.ServerMessage_ChildEnded:
		a.childEnded(m.ChildEnded)
	case *scorev1.ServerMessage_Watch:
		for _, n := range m.Watch.GetNeighbours() {
			a.peers.Expect(n.GetAddress(), n.GetNode())
		}
		a.watcher.Watch(m.Watch)
	case *scorev1.ServerMessage_AskCut:
		a.idle.Ask(m.AskCut)
	case *scorev1.ServerMessage_Welcome, *scorev1.ServerMessage_Pong, *scorev1.ServerMessage_Refused,
		*scorev1.ServerMessage_Redirect, *scorev1.ServerMessage_Servers:
		// The uplink's own.
	}
}

// kill answers for a job that is not here, too: nothing of it is left.
func (a *Agent) kill(order *scorev1.Kill) {
	if j := a.jobs.Get(order.GetJobId()); j != nil {
		j.kill(order.GetReason())
		return
	}
	nothing := &scorev1.AgentMessage{Message: &scorev1.AgentMessage_NodeDone{
		NodeDone: &scorev1.NodeDone{JobId: order.GetJobId()},
	}}
	overs := a.endings.Under(order.GetJobId())
	if len(overs) == 0 {
		a.link.Send(nothing)
		return
	}
	a.workers.Go(func() {
		for _, over := range overs {
			select {
			case <-over:
			case <-a.working.Done():
				return
			}
		}
		a.link.Send(nothing)
	})
}

// stewardOf is that of a job; nil: the job is not here, or has none yet.
func (a *Agent) stewardOf(id uint64) *stewardpool.Steward {
	if j := a.jobs.Get(id); j != nil {
		return j.stewardOf()
	}
	return nil
}

// signal sends a signal to every rank's process group.
func (a *Agent) signal(order *scorev1.SignalRanks) {
	if order.GetSignal() <= 0 || order.GetSignal() > maxSignal {
		return
	}
	if steward := a.stewardOf(order.GetJobId()); steward != nil {
		_ = steward.Signal(order.GetSignal())
	}
}

// maxSignal is SIGRTMAX of Linux.
const maxSignal = 64

func (a *Agent) nameReply(reply *scorev1.NameReply) {
	j := a.jobs.Get(reply.GetJobId())
	if j == nil {
		return
	}
	j.outbox.Drop(func(m *scorev1.AgentMessage) bool {
		return m.GetName() != nil && m.GetName().GetRequest() == reply.GetRequest()
	})
	if steward := j.stewardOf(); steward != nil {
		_ = steward.Name(reply)
	}
}

func (a *Agent) spawnReply(reply *scorev1.SpawnReply) {
	j := a.jobs.Get(reply.GetJobId())
	if j == nil {
		return
	}
	j.outbox.Drop(func(m *scorev1.AgentMessage) bool {
		return m.GetSpawn() != nil && m.GetSpawn().GetRequest() == reply.GetRequest()
	})
	if steward := j.stewardOf(); steward != nil {
		_ = steward.Spawn(reply)
	}
}

func (a *Agent) partGone(m *scorev1.PartGone) {
	if j := a.jobs.Get(m.GetJobId()); j != nil {
		j.group.PartLost(int(m.GetNodeIndex()), m.GetReason())
	}
}

func (a *Agent) childEnded(m *scorev1.ChildEnded) {
	if steward := a.stewardOf(m.GetJobId()); steward != nil {
		_ = steward.ChildEnded(m)
	}
}

func (a *Agent) placesReply(reply *scorev1.PlacesReply) {
	j := a.jobs.Get(reply.GetJobId())
	if j == nil {
		return
	}
	j.outbox.Drop(func(m *scorev1.AgentMessage) bool {
		return m.GetPlaces() != nil && m.GetPlaces().GetRequest() == reply.GetRequest()
	})
	if steward := j.stewardOf(); steward != nil {
		_ = steward.Places(reply)
	}
}

func (a *Agent) askRankStates(order *scorev1.AskRankStates) {
	if steward := a.stewardOf(order.GetJobId()); steward != nil {
		_ = steward.AskRankStates(order.GetRequest())
	}
}

// planOf takes a plan from its message. What is wrong with it, the machine
// that obeys it finds (ctxswitch.Plan.Validate).
func planOf(m *scorev1.Plan) *ctxswitch.Plan {
	plan := &ctxswitch.Plan{
		Term:    m.GetTerm(),
		Version: m.GetVersion(),
		Origin:  m.GetOriginNanos(),
		Rows:    make([]ctxswitch.Row, len(m.GetRows())),
	}
	for i, row := range m.GetRows() {
		plan.Rows[i] = ctxswitch.Row{
			Index: int(row.GetIndex()),
			Slice: time.Duration(row.GetSliceNanos()),
			Jobs:  make([]ctxswitch.JobID, len(row.GetJobs())),
		}
		for k, id := range row.GetJobs() {
			plan.Rows[i].Jobs[k] = ctxswitch.JobID(id)
		}
	}
	return plan
}
