package idlewatch

import (
	"score/channels/abi"
	"score/channels/node"
	"score/nodeagent/wakesource"
	"score/scored/api/scorev1"
)

// answer reports a job's state and, if the leader asks, what could wake it. A check after that
// finds events that have happened meanwhile.
func (w *Watcher) answer(question *scorev1.AskCut) {
	j := w.options.Job(question.GetJobId())
	if j == nil {
		return
	}
	s := w.jobs[j]
	if s == nil {
		return
	}
	reply := &scorev1.Cut{Request: question.GetRequest()}
	if question.GetExamine() && s.watch.Asleep() {
		reply.Examined, reply.WakeSource = true, wakeSource(j, &s.cut)
		reply.Waits = w.waits(&s.cut)
	}
	if w.check(j) != nil {
		w.report(j, s, reply)
	}
}

// wakeSource describes what could wake the job here, "" if nothing can.
func wakeSource(j Job, cut *node.Cut) string {
	for i := range cut.Waits {
		if cut.Waits[i].How == abi.WaitTimed {
			return "a rank waits with a deadline"
		}
	}
	var pids []int
	var own wakesource.Own
	j.Use(func(p Part) {
		pids, _ = p.Pids()
		own = p.Own()
	})
	if len(pids) == 0 {
		return "its processes cannot be listed"
	}
	return wakesource.Find(pids, own)
}

// report sends the leader the job's state. The reply, if any, has answers beyond that.
func (w *Watcher) report(j Job, s *sleeper, reply *scorev1.Cut) {
	if reply == nil {
		reply = &scorev1.Cut{}
	}
	reply.JobId, reply.Asleep, reply.Epoch = j.ID(), s.watch.Asleep(), s.watch.Epoch()
	reply.Sent, reply.Received, reply.Refused = s.cut.Sent, s.cut.Received, s.cut.Refused
	reply.Ranks, reply.Waiting, reply.Pending = uint32(s.cut.Ranks), uint32(s.cut.Asleep), uint32(s.cut.Pending)
	j.Send(&scorev1.AgentMessage{Message: &scorev1.AgentMessage_Cut{Cut: reply}})
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
