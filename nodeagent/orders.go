package nodeagent

import (
	"score/ctxswitch"
	"score/scored/api/agentpb"
	"score/scored/failpoint"
	"time"

	"go.uber.org/zap"
)

// leaderHandler is the uplink's Handler: it follows the leader's orders. No method waits for long,
// since the heartbeat comes by the same stream.
type leaderHandler struct{ *Agent }

// Welcome ends the jobs that the leader does not know.
func (a leaderHandler) Welcome(welcome *agentpb.Welcome) {
	a.jobs.ForgetBut(welcome.GetKeepJobs())
	// The leader repeats the stage orders for the files of waiting jobs.
	a.files.ReleaseBut(func(job uint64) bool { return a.jobs.Get(job) != nil })
	a.log.Info("connected to the leader", zap.Uint64("term", welcome.GetTerm()))
}

// Opened reports the kept jobs again.
func (a leaderHandler) Opened() {
	a.jobs.Repeat()
	a.idle.ReportAgain()
	a.watcher.ReportAgain()
}

// Lost changes nothing: time sharing goes on by the plan.
func (a leaderHandler) Lost() {
	a.log.Info("connection to the leader lost")
}

// Message carries out one order.
func (a leaderHandler) Message(message *agentpb.ServerMessage) {
	switch m := message.GetMessage().(type) {
	case *agentpb.ServerMessage_Prepare:
		_ = failpoint.Hit(failpoint.PrepareArrived) // cannot fail
		a.jobs.Prepare(m.Prepare)
	case *agentpb.ServerMessage_Stage:
		a.files.FetchEarly(a.running, m.Stage)
	case *agentpb.ServerMessage_Plan:
		_ = failpoint.Hit(failpoint.PlanArrived) // cannot fail
		a.idle.Planned(m.Plan)
		a.switcher.Plan(planOf(m.Plan))
	case *agentpb.ServerMessage_Kill:
		a.jobs.Kill(m.Kill)
	case *agentpb.ServerMessage_Signal:
		a.jobs.Signal(m.Signal)
	case *agentpb.ServerMessage_Forget:
		a.jobs.Forget(m.Forget.GetJobId())
	case *agentpb.ServerMessage_Name:
		a.jobs.NameReply(m.Name)
	case *agentpb.ServerMessage_Spawn:
		a.jobs.SpawnReply(m.Spawn)
	case *agentpb.ServerMessage_Places:
		a.jobs.PlacesReply(m.Places)
	case *agentpb.ServerMessage_AskRankStates:
		a.jobs.AskRankStates(m.AskRankStates)
	case *agentpb.ServerMessage_Revoked:
		a.onRevoked(m.Revoked)
	case *agentpb.ServerMessage_AskChannels:
		a.jobs.AskChannels(m.AskChannels)
	case *agentpb.ServerMessage_PartGone:
		a.jobs.PartGone(m.PartGone)
	case *agentpb.ServerMessage_ChildEnded:
		a.jobs.ChildEnded(m.ChildEnded)
	case *agentpb.ServerMessage_Watch:
		for _, n := range m.Watch.GetNeighbours() {
			a.peers.Expect(n.GetAddress(), n.GetNode())
		}
		a.watcher.Watch(m.Watch)
	case *agentpb.ServerMessage_AskCut:
		a.idle.Ask(m.AskCut)
	case *agentpb.ServerMessage_Welcome, *agentpb.ServerMessage_Pong, *agentpb.ServerMessage_Refused,
		*agentpb.ServerMessage_Redirect, *agentpb.ServerMessage_Servers:
		// The uplink's own.
	}
}

// planOf converts a plan from its message. The machine that follows the plan validates it
// (ctxswitch.Plan.Validate).
func planOf(m *agentpb.Plan) *ctxswitch.Plan {
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
