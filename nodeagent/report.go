package nodeagent

import (
	"context"
	"score/ctxswitch"
	"score/nodeagent/metrics"
	"score/nodeagent/switcher"
	"score/scored/api/agentpb"
	"score/scored/api/scorev1"
	"time"
)

// reportEvery is the time between two reports: people read figures by the second, and a switch adds
// only some bytes.
const reportEvery = time.Second

// sendReports sends the leader the measurements of the last second, if there are any. Without a
// stream to the leader it leaves them with the switching thread, which adds to them.
func (a *Agent) sendReports(ctx context.Context) {
	ticker := time.NewTicker(reportEvery)
	defer ticker.Stop()
	report := switcher.NewReport()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if a.switcher.Idle() || !a.link.Connected() {
			continue
		}
		if !a.switcher.Collect(ctx, report) {
			return
		}
		if report.Empty() {
			continue
		}
		a.count(report)
		a.link.Send(&agentpb.AgentMessage{Message: &agentpb.AgentMessage_SwitchReport{SwitchReport: a.reportMessage(report)}})
	}
}

func (a *Agent) count(r *switcher.Report) {
	a.metrics.AddSteps(r.Node)
	a.metrics.Add(metrics.Switches, r.Switches)
	a.metrics.Add(metrics.MissedBoundaries, r.Missed)
	a.metrics.Add(metrics.LateFreezes, r.Late)
	a.metrics.Add(metrics.DroppedBoundaries, r.Dropped)
	a.metrics.Add(metrics.LostNotices, r.LostNotices)
	a.metrics.Add(metrics.FlushesClean, r.Flushes.Clean)
	a.metrics.Add(metrics.FlushesCutOff, r.Flushes.CutOff)
	a.metrics.Add(metrics.FlushesHeld, r.Flushes.Held)
}

func (a *Agent) reportMessage(r *switcher.Report) *agentpb.SwitchReport {
	message := &agentpb.SwitchReport{
		MissedBoundaries: r.Missed,
		LateFreezes:      r.Late,
		Boundaries:       make([]*agentpb.SwitchReport_Boundary, len(r.Boundaries)),
	}
	if measured(r.Node) {
		message.Steps = append(message.Steps, stepsMessage(0, r.Node, r.Flushes))
	}
	for _, j := range r.Jobs {
		if measured(j.Measures) {
			message.Steps = append(message.Steps, stepsMessage(j.ID, j.Measures, j.Flushes))
		}
		id := uint64(j.ID)
		message.Usage = append(message.Usage, &agentpb.SwitchReport_JobUsage{JobId: id, Usage: a.jobs.Usage(id, j.Usage)})
	}
	for i, b := range r.Boundaries {
		message.Boundaries[i] = &agentpb.SwitchReport_Boundary{
			PlanVersion:  b.Version,
			Round:        uint64(b.Round),
			RowPosition:  uint32(b.Pos),
			PlannedNanos: b.Planned,
			RunningNanos: b.Running,
			JobsIn:       numbers(b.In),
			JobsOut:      numbers(b.Out),
		}
	}
	return message
}

func measured(m *ctxswitch.Measures) bool {
	for i := range m {
		if m[i].Count() > 0 {
			return true
		}
	}
	return false
}

// stepsMessage returns the histograms in the order of ctxswitch.MeasureTable.
func stepsMessage(job ctxswitch.JobID, m *ctxswitch.Measures, f switcher.Flushes) *agentpb.SwitchReport_Steps {
	steps := &agentpb.SwitchReport_Steps{JobId: uint64(job), Histograms: make([][]byte, len(m))}
	for i := range m {
		steps.Histograms[i], _ = m[i].MarshalBinary() // never fails
	}
	if f != (switcher.Flushes{}) {
		steps.Flushes = &scorev1.Flushes{Clean: f.Clean, CutOff: f.CutOff, Held: f.Held}
	}
	return steps
}

func numbers(jobs []ctxswitch.JobID) []uint64 {
	out := make([]uint64, len(jobs))
	for i, id := range jobs {
		out[i] = uint64(id)
	}
	return out
}
