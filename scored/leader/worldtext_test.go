package leader

import (
	"fmt"
	"score/scored/api/agentpb"
	"score/scored/api/jobmap"
	"score/scored/api/scorev1"
	"score/scored/state/statepb"
	"strings"
	"time"
)

// Texts of the controller's actions, for scripts.

func commandText(command *statepb.Command) string {
	switch c := command.GetCommand().(type) {
	case *statepb.Command_RegisterNode:
		return "RegisterNode " + c.RegisterNode.GetNode().GetName()
	case *statepb.Command_NodeGone:
		return "NodeGone " + c.NodeGone.GetNode()
	case *statepb.Command_DrainNode:
		if d := c.DrainNode.GetDrain(); d != nil {
			return fmt.Sprintf("DrainNode %s by %s requeue %v %q", c.DrainNode.GetNode(), d.GetBy(), d.GetRequeue(), d.GetReason())
		}
		return "DrainNode " + c.DrainNode.GetNode() + " no more"
	case *statepb.Command_Submit:
		text := fmt.Sprint("Submit ", c.Submit.GetJobId())
		if c.Submit.GetHold() != nil {
			text += " held"
		}
		if len(c.Submit.GetUnmet()) > 0 {
			text += fmt.Sprint(" after ", c.Submit.GetUnmet())
		}
		return text
	case *statepb.Command_HoldJob:
		if h := c.HoldJob.GetHold(); h != nil {
			return fmt.Sprintf("HoldJob %d by %s operator %v", c.HoldJob.GetJobId(), h.GetBy(), h.GetOperator())
		}
		return fmt.Sprintf("HoldJob %d no more", c.HoldJob.GetJobId())
	case *statepb.Command_Allocate:
		text := fmt.Sprintf("Allocate %d row %d", c.Allocate.GetJobId(), c.Allocate.GetRow())
		for _, p := range c.Allocate.GetPlaces() {
			text += fmt.Sprintf(" %s%v", p.GetNode(), p.GetRanks())
		}
		return text
	case *statepb.Command_MoveRow:
		return fmt.Sprintf("MoveRow %d to %d", c.MoveRow.GetJobId(), c.MoveRow.GetRow())
	case *statepb.Command_Requeue:
		if c.Requeue.GetRestart() {
			return fmt.Sprint("Restart ", c.Requeue.GetJobId())
		}
		return fmt.Sprint("Requeue ", c.Requeue.GetJobId())
	case *statepb.Command_OrderEnd:
		return fmt.Sprintf(
			"OrderEnd %d %s %q",
			c.OrderEnd.GetJobId(),
			strings.TrimPrefix(c.OrderEnd.GetVerdict().GetReason().String(), "END_REASON_"),
			c.OrderEnd.GetVerdict().GetMessage(),
		)
	case *statepb.Command_Raise:
		return fmt.Sprint("Raise ", c.Raise.GetProtocol())
	case *statepb.Command_OrderRequeue:
		return fmt.Sprintf("OrderRequeue %d %q", c.OrderRequeue.GetJobId(), c.OrderRequeue.GetBecause())
	case *statepb.Command_MarkRunning:
		return fmt.Sprint("MarkRunning ", c.MarkRunning.GetJobId()) + metText(c.MarkRunning.GetMet())
	case *statepb.Command_End:
		return fmt.Sprintf("End %d %s", c.End.GetJobId(), verdictText(c.End.GetVerdict())) + metText(c.End.GetMet())
	case *statepb.Command_SetSettings:
		return fmt.Sprintf("SetSettings slice %v rows %d", time.Duration(c.SetSettings.GetSettings().GetSliceNanos()), c.SetSettings.GetSettings().GetMaxRows())
	case *statepb.Command_PublishName:
		return fmt.Sprintf("PublishName %d %s", c.PublishName.GetJobId(), c.PublishName.GetService())
	case *statepb.Command_UnpublishName:
		return fmt.Sprintf("UnpublishName %d %s", c.UnpublishName.GetJobId(), c.UnpublishName.GetService())
	}
	return fmt.Sprintf("%T", command.GetCommand())
}

func metText(met []uint64) string {
	if len(met) == 0 {
		return ""
	}
	return fmt.Sprint(" met ", met)
}

func verdictText(v *scorev1.Verdict) string {
	text := fmt.Sprintf("%s %d", strings.TrimPrefix(v.GetReason().String(), "END_REASON_"), v.GetExitCode())
	if v.GetRank() >= 0 {
		text += fmt.Sprintf(" by rank %d on %s", v.GetRank(), v.GetNode())
	}
	if v.GetMessage() != "" {
		text += fmt.Sprintf(" %q", v.GetMessage())
	}
	return text
}

// mapOf returns the places of a message; nil if it has none.
func mapOf(encoded []byte) []*scorev1.NodePlace {
	if encoded == nil {
		return nil
	}
	places, err := jobmap.Decode(encoded)
	if err != nil {
		panic(err)
	}
	return places
}

func messageText(message *agentpb.ServerMessage) string {
	switch m := message.GetMessage().(type) {
	case *agentpb.ServerMessage_Welcome:
		return fmt.Sprintf("Welcome term %d keep %v", m.Welcome.GetTerm(), m.Welcome.GetKeepJobs())
	case *agentpb.ServerMessage_Prepare:
		text := fmt.Sprintf("Prepare %d part %d of %d", m.Prepare.GetJobId(), m.Prepare.GetNodeIndex(), len(mapOf(m.Prepare.GetMap())))
		if m.Prepare.GetLeaseNanos() != 0 {
			text += fmt.Sprintf(" attempt %d restarts %d lease %v", m.Prepare.GetAttempt(), m.Prepare.GetRestarts(), time.Duration(m.Prepare.GetLeaseNanos()))
		}
		return text
	case *agentpb.ServerMessage_Stage:
		text := fmt.Sprintf(
			"Stage %d of %s: %d of %d nodes",
			m.Stage.GetJobId(),
			m.Stage.GetFiles()[0].GetName(),
			m.Stage.GetIndex(),
			len(m.Stage.GetAddresses()),
		)
		if more := m.Stage.GetNodes()[len(m.Stage.GetAddresses()):]; len(more) > 0 {
			text += ", and " + strings.Join(more, " ")
		}
		return text
	case *agentpb.ServerMessage_Plan:
		text := fmt.Sprintf("Plan %d.%d", m.Plan.GetTerm(), m.Plan.GetVersion())
		for _, row := range m.Plan.GetRows() {
			text += fmt.Sprintf(" row %d %v %v", row.GetIndex(), time.Duration(row.GetSliceNanos()), row.GetJobs())
		}
		if len(m.Plan.GetAsleep()) > 0 {
			text += fmt.Sprintf(" asleep %v", m.Plan.GetAsleep())
		}
		return text
	case *agentpb.ServerMessage_Kill:
		return fmt.Sprintf("Kill %d %q", m.Kill.GetJobId(), m.Kill.GetReason())
	case *agentpb.ServerMessage_Signal:
		if m.Signal.GetEndsJob() {
			return fmt.Sprintf("Signal %d %d ends the job", m.Signal.GetJobId(), m.Signal.GetSignal())
		}
		return fmt.Sprintf("Signal %d %d", m.Signal.GetJobId(), m.Signal.GetSignal())
	case *agentpb.ServerMessage_Forget:
		return fmt.Sprintf("Forget %d", m.Forget.GetJobId())
	case *agentpb.ServerMessage_Name:
		if m.Name.GetError() != "" {
			return fmt.Sprintf("Name request %d: %s", m.Name.GetRequest(), m.Name.GetError())
		}
		return fmt.Sprintf("Name request %d ok %v port %q", m.Name.GetRequest(), m.Name.GetOk(), m.Name.GetPort())
	case *agentpb.ServerMessage_Spawn:
		return fmt.Sprintf("Spawn request %d child %d %q", m.Spawn.GetRequest(), m.Spawn.GetChildJob(), m.Spawn.GetError())
	case *agentpb.ServerMessage_Places:
		return fmt.Sprintf("Places request %d of job %d: %d nodes", m.Places.GetRequest(), m.Places.GetOfJob(), len(mapOf(m.Places.GetMap())))
	case *agentpb.ServerMessage_PartGone:
		return fmt.Sprintf("PartGone %d part %d %q", m.PartGone.GetJobId(), m.PartGone.GetNodeIndex(), m.PartGone.GetReason())
	case *agentpb.ServerMessage_ChildEnded:
		return fmt.Sprintf("ChildEnded %d of %d code %d", m.ChildEnded.GetChildJob(), m.ChildEnded.GetJobId(), m.ChildEnded.GetExitCode())
	case *agentpb.ServerMessage_Watch:
		var names []string
		for _, n := range m.Watch.GetNeighbours() {
			names = append(names, n.GetNode())
		}
		return fmt.Sprintf("Watch %v", names)
	case *agentpb.ServerMessage_AskRankStates:
		return fmt.Sprintf("AskRankStates %d of %d", m.AskRankStates.GetRequest(), m.AskRankStates.GetJobId())
	case *agentpb.ServerMessage_AskCut:
		return fmt.Sprintf("AskCut %d.%d of %d examine %v", m.AskCut.GetRequest()>>requestBits, m.AskCut.GetRequest()&(1<<requestBits-1),
			m.AskCut.GetJobId(), m.AskCut.GetExamine())
	case *agentpb.ServerMessage_AskChannels:
		return fmt.Sprintf("AskChannels %d of %v", m.AskChannels.GetRequest(), m.AskChannels.GetJobIds())
	}
	return fmt.Sprintf("%T", message.GetMessage())
}

func eventText(e Event) string {
	if e.Sources != nil {
		texts := make([]string, len(e.Sources))
		for i, s := range e.Sources {
			texts[i] = fmt.Sprintf("%d on %s", s.Job, s.Node)
			if s.Stdin {
				texts[i] += " with stdin"
			}
		}
		return "output of " + strings.Join(texts, ", ")
	}
	switch m := e.Message.GetEvent().(type) {
	case *scorev1.AttachEvent_State:
		text := strings.TrimPrefix(m.State.GetState().String(), "JOB_STATE_")
		if m.State.GetMessage() != "" {
			text += fmt.Sprintf(" %q", m.State.GetMessage())
		}
		return text
	case *scorev1.AttachEvent_Warning:
		return "warning: " + m.Warning
	case *scorev1.AttachEvent_OutputMissing:
		return "output is missing"
	case *scorev1.AttachEvent_Ended:
		return "ended: " + verdictText(m.Ended)
	case *scorev1.AttachEvent_RankStates_:
		return fmt.Sprintf("%d ranks, gang on %v", len(m.RankStates.GetRanks()), m.RankStates.GetGangOn())
	}
	return fmt.Sprintf("%T", e.Message.GetEvent())
}
