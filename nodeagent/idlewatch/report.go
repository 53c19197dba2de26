package idlewatch

import (
	"score/channels/abi"
	"score/channels/node"
	"score/nodeagent/wakesource"
	"score/scored/api/agentpb"
	"score/scored/api/scorev1"
	"slices"
)

// answer reports a job's state and, if the leader asks, what could wake it: onFound does when that
// is found out.
func (w *Watcher) answer(question *agentpb.AskCut) {
	j, s := w.sleeperOf(question.GetJobId())
	if s == nil {
		return
	}
	reply := &agentpb.Cut{Request: question.GetRequest()}
	if !question.GetExamine() || !s.watch.Asleep() {
		w.reply(j, s, reply)
		return
	}
	if hasDeadline(&s.cut) {
		w.replyExamined(j, s, reply, "a rank waits with a deadline")
		return
	}
	s.examining = &examination{request: reply.GetRequest(), epoch: s.watch.Epoch()}
	var own wakesource.Own
	j.Use(func(p Part) { own = p.Own() })
	j.Examine(reply.GetRequest(), own)
}

// onFound reports what could wake a job, if the leader's question is still the last.
func (w *Watcher) onFound(f finding) {
	j, s := w.sleeperOf(f.job)
	if s == nil || s.examining == nil || s.examining.request != f.request {
		return
	}
	if s.watch.Epoch() != s.examining.epoch { // it was awake meanwhile
		w.reply(j, s, &agentpb.Cut{Request: f.request})
		return
	}
	w.replyExamined(j, s, &agentpb.Cut{Request: f.request}, f.source)
}

func (w *Watcher) sleeperOf(id uint64) (Job, *sleeper) {
	j := w.options.Job(id)
	if j == nil {
		return nil, nil
	}
	return j, w.jobs[j]
}

func (w *Watcher) replyExamined(j Job, s *sleeper, reply *agentpb.Cut, source string) {
	reply.Examined, reply.WakeSource, reply.Waits = true, source, w.waits(&s.cut)
	w.reply(j, s, reply)
}

// reply checks the job once more, so that events that have happened meanwhile are found, and
// reports.
func (w *Watcher) reply(j Job, s *sleeper, reply *agentpb.Cut) {
	s.examining = nil
	if w.settle(j) != nil {
		w.report(j, s, reply)
	}
}

func hasDeadline(cut *node.Cut) bool {
	return slices.ContainsFunc(cut.Waits, func(w node.Wait) bool { return w.How == abi.WaitTimed })
}

// report sends the leader the job's state. The reply, if any, has answers beyond that.
func (w *Watcher) report(j Job, s *sleeper, reply *agentpb.Cut) {
	if reply == nil {
		reply = &agentpb.Cut{}
	}
	reply.JobId, reply.Asleep, reply.Epoch = j.ID(), s.watch.Asleep(), s.watch.Epoch()
	reply.Sent, reply.Received, reply.Refused = s.cut.Sent, s.cut.Received, s.cut.Refused
	reply.Ranks, reply.Waiting, reply.Pending = uint32(s.cut.Ranks), uint32(s.cut.Asleep), uint32(s.cut.Pending)
	j.Send(&agentpb.AgentMessage{Message: &agentpb.AgentMessage_Cut{Cut: reply}})
}

var waitNames = map[uint32]string{abi.WaitMessage: "a message", abi.WaitSpace: "space", abi.WaitTimed: "a message or a time"}

// waits describes what the ranks sleep for.
func (w *Watcher) waits(cut *node.Cut) (waits []*scorev1.RankWait) {
	for i := range cut.Waits {
		wait := &cut.Waits[i]
		if !wait.Sleeps() {
			continue
		}
		waits = append(waits, &scorev1.RankWait{
			Rank: wait.Rank, Channel: wait.Channel, Wait: waitNames[wait.How], SinceNanos: w.options.ClusterTime(wait.Since),
			Sent: wait.Sent, Received: wait.Received,
		})
	}
	return waits
}
