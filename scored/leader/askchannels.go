package leader

import (
	"cmp"
	"context"
	"maps"
	"score/scored/api/agentpb"
	"score/scored/api/scorev1"
	"slices"
)

// Channels asks the nodes about the channels of running jobs: of one job, which the caller must
// control, or of all jobs that the caller controls.
func (l *Leader) Channels(ctx context.Context, r *scorev1.ListChannelsRequest, caller Caller) (*scorev1.ListChannelsResponse, error) {
	return consult(ctx, l, func(c *controller, answer func(*scorev1.ListChannelsResponse, error)) {
		jobs, err := l.jobsOf(c, r.GetJobId(), caller)
		if err != nil {
			answer(nil, err)
			return
		}
		c.askChannels(jobs, r, func(response *scorev1.ListChannelsResponse) { answer(response, nil) })
	})
}

// jobsOf returns the job with that number, or all jobs that the caller controls if it is zero.
func (l *Leader) jobsOf(c *controller, id uint64, caller Caller) (jobs []*job, err error) {
	if id != 0 {
		j := c.jobs[id]
		if j == nil || j.state == done {
			return nil, l.overOrUnknown(id)
		}
		return []*job{j}, caller.mayControl(id, j.user)
	}
	for _, id := range slices.Sorted(maps.Keys(c.jobs)) {
		if j := c.jobs[id]; j.state != done && caller.mayControl(id, j.user) == nil {
			jobs = append(jobs, j)
		}
	}
	return jobs, nil
}

// askChannels sends one question to each node, about all of the jobs that it has.
func (c *controller) askChannels(jobs []*job, r *scorev1.ListChannelsRequest, answered func(*scorev1.ListChannelsResponse)) {
	a := c.asks.open()
	var unconnected []string // nodes that cannot be asked
	a.over = func() {
		slices.SortFunc(a.channels, compareChannels)
		silent := slices.AppendSeq(unconnected, maps.Keys(a.waiting))
		slices.Sort(silent)
		response := &scorev1.ListChannelsResponse{Channels: a.channels, Silent: silent}
		c.call(func(error) { answered(response) })
	}
	questions := make(map[string]*agentpb.AskChannels)
	for _, j := range jobs {
		for _, p := range j.parts {
			if j.forgotten || r.GetNode() != "" && r.GetNode() != p.Node {
				continue
			}
			q := questions[p.Node]
			if q == nil {
				q = &agentpb.AskChannels{Request: a.id, OneRank: r.GetOneRank(), Rank: r.GetRank()}
				questions[p.Node] = q
			}
			q.JobIds = append(q.JobIds, j.id)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(questions)) {
		question := &agentpb.ServerMessage{Message: &agentpb.ServerMessage_AskChannels{AskChannels: questions[name]}}
		if !c.sendAsk(a, c.nodes[name], question) {
			unconnected = append(unconnected, name)
		}
	}
	c.startWait(a)
}

// onChannels handles a node's answer.
func (c *controller) onChannels(n *node, m *agentpb.ChannelsReply) {
	c.asks.answer(n.name, m.GetRequest(), func(a *ask) {
		for _, channel := range m.GetChannels() {
			channel.Node = n.name
			a.channels = append(a.channels, channel)
		}
	})
}

func compareChannels(a, b *scorev1.ChannelState) int {
	return cmp.Or(cmp.Compare(a.GetJobId(), b.GetJobId()), cmp.Compare(a.GetRank(), b.GetRank()), cmp.Compare(a.GetChannel(), b.GetChannel()))
}
