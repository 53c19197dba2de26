package jobs

import (
	"score/nodeagent/dataplane"
	"score/nodeagent/outbox"
	"score/nodeagent/stewardpool"
	"score/scored/api"
	"score/scored/api/agentpb"
)

// withSteward calls do with the steward of a job, if the job is here and has one. Errors are
// ignored: the loss of a steward ends the job.
func (js *Jobs) withSteward(id uint64, do func(*stewardpool.Steward) error) {
	if j := js.Get(id); j != nil {
		j.withSteward(do)
	}
}

func (j *Job) withSteward(do func(*stewardpool.Steward) error) {
	if steward := j.stewardOf(); steward != nil {
		_ = do(steward)
	}
}

// Kill ends a job. It reports a job that is not here as done.
func (js *Jobs) Kill(order *agentpb.Kill) {
	if j := js.Get(order.GetJobId()); j != nil {
		j.kill(order.GetReason())
		return
	}
	done := &agentpb.AgentMessage{Message: &agentpb.AgentMessage_NodeDone{
		NodeDone: &agentpb.NodeDone{JobId: order.GetJobId()},
	}}
	ends := js.endings.Of(order.GetJobId())
	if len(ends) == 0 {
		js.options.Leader.Send(done)
		return
	}
	js.options.Go(func() {
		for _, over := range ends {
			select {
			case <-over:
			case <-js.options.Running.Done():
				return
			}
		}
		js.options.Leader.Send(done)
	})
}

// Signal sends a signal to every rank's process group. A job whose steward does not have it yet is
// killed by a signal that ends it: the steward would miss the signal, and launch the job.
func (js *Jobs) Signal(order *agentpb.SignalRanks) {
	j := js.Get(order.GetJobId())
	switch {
	case j == nil || order.GetSignal() <= 0 || order.GetSignal() > api.MaxSignal:
		return
	case order.GetEndsJob() && !j.isSettled():
		j.kill("")
		return
	}
	j.withSteward(func(s *stewardpool.Steward) error {
		if order.GetEndsJob() {
			if err := s.Ending(); err != nil {
				return err
			}
		}
		return s.Signal(order.GetSignal())
	})
}

// NameReply handles a reply of the name service.
func (js *Jobs) NameReply(reply *agentpb.NameReply) {
	js.onReply(reply.GetJobId(), outbox.Name(reply.GetRequest()), func(s *stewardpool.Steward) error {
		return s.Name(reply)
	})
}

// SpawnReply handles the reply to a rank that spawns a job.
func (js *Jobs) SpawnReply(reply *agentpb.SpawnReply) {
	js.onReply(reply.GetJobId(), outbox.Spawn(reply.GetRequest()), func(s *stewardpool.Steward) error {
		return s.Spawn(reply)
	})
}

// PlacesReply handles the reply with the places of another job's ranks.
func (js *Jobs) PlacesReply(reply *agentpb.PlacesReply) {
	js.onReply(reply.GetJobId(), outbox.Places(reply.GetRequest()), func(s *stewardpool.Steward) error {
		return s.Places(reply)
	})
}

// onReply removes the answered request, and passes the reply to the steward.
func (js *Jobs) onReply(id uint64, answered outbox.Question, pass func(*stewardpool.Steward) error) {
	if j := js.Get(id); j != nil {
		j.outbox.Answered(answered)
		j.withSteward(pass)
	}
}

// PartGone informs a job's nodes that one of them has lost its part.
func (js *Jobs) PartGone(m *agentpb.PartGone) {
	if j := js.Get(m.GetJobId()); j != nil {
		j.group.PartLost(int(m.GetNodeIndex()), m.GetReason())
	}
}

// ChildEnded informs a job of the end of a job that it has spawned.
func (js *Jobs) ChildEnded(m *agentpb.ChildEnded) {
	js.withSteward(m.GetJobId(), func(s *stewardpool.Steward) error { return s.ChildEnded(m) })
}

// AskRankStates asks a job's steward for the states of its ranks; RankStates is the reply.
func (js *Jobs) AskRankStates(order *agentpb.AskRankStates) {
	js.withSteward(order.GetJobId(), func(s *stewardpool.Steward) error { return s.AskRankStates(order.GetRequest()) })
}

// AskChannels replies with the job's channels, in the background, since it asks each channel's
// driver in turn.
func (js *Jobs) AskChannels(order *agentpb.AskChannels) {
	js.options.Go(func() {
		reply := &agentpb.ChannelsReply{Request: order.GetRequest()}
		for _, id := range order.GetJobIds() {
			j := js.Get(id)
			if j == nil {
				continue
			}
			j.withChannels(func(c *dataplane.Job) {
				if order.GetOneRank() {
					reply.Channels = append(reply.Channels, c.Rank(order.GetRank())...)
					return
				}
				reply.Channels = append(reply.Channels, c.Channels()...)
			})
		}
		js.options.Leader.Send(&agentpb.AgentMessage{Message: &agentpb.AgentMessage_Channels{Channels: reply}})
	})
}
