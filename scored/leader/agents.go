package leader

import (
	"score/scored/api/agentpb"
	"score/scored/api/scorev1"
)

// onMessage handles an agent's message. It ignores messages of a link that was replaced.
func (c *controller) onMessage(name string, link Link, m *agentpb.AgentMessage) {
	n := c.nodes[name]
	if n == nil || n.link != link {
		return
	}
	n.lastMessage = c.now
	switch m := m.GetMessage().(type) {
	case *agentpb.AgentMessage_Ping:
		n.heartbeat(m.Ping)
	case *agentpb.AgentMessage_Prepared:
		c.onPrepared(n, m.Prepared)
	case *agentpb.AgentMessage_Launched:
		c.onRanksLaunched(n, m.Launched)
	case *agentpb.AgentMessage_RankExited:
		c.onRankExited(n, m.RankExited)
	case *agentpb.AgentMessage_RanksExited:
		for _, exit := range m.RanksExited.GetExits() {
			c.onRankExited(n, exit)
		}
	case *agentpb.AgentMessage_NodeDone:
		c.onPartDone(n, m.NodeDone)
	case *agentpb.AgentMessage_Abort:
		c.onAbortReport(n, m.Abort)
	case *agentpb.AgentMessage_TimeUp:
		if j, p := c.partOf(n, m.TimeUp.GetJobId()); p != nil {
			c.step(j, evTerminate{timeVerdict(j.spec)})
		}
	case *agentpb.AgentMessage_TimeNear:
		c.onTimeNear(n, m.TimeNear)
	case *agentpb.AgentMessage_SwitchReport:
		c.onUsage(n, m.SwitchReport)
	case *agentpb.AgentMessage_Name:
		c.onNameRequest(n, m.Name)
	case *agentpb.AgentMessage_Places:
		c.askPlaces(n, m.Places)
	case *agentpb.AgentMessage_Spawn:
		c.spawn(n, m.Spawn)
	case *agentpb.AgentMessage_Note:
		if j, p := c.partOf(n, m.Note.GetJobId()); p != nil {
			c.onNote(j, p, m.Note)
		}
	case *agentpb.AgentMessage_RankStates:
		c.onRankStates(n, m.RankStates)
	case *agentpb.AgentMessage_Suspicion:
		c.onSuspicion(n, m.Suspicion)
	case *agentpb.AgentMessage_Cut:
		c.onCut(n, m.Cut)
	case *agentpb.AgentMessage_Channels:
		c.onChannels(n, m.Channels)
	}
}

func (c *controller) onRanksLaunched(n *node, m *agentpb.Launched) {
	if j, p := c.partOf(n, m.GetJobId()); p != nil {
		c.onStartReport(j, p, m.GetStart())
		c.step(j, evLaunched{p, m.GetAtNanos()})
	}
}

// onTimeNear sends a job the signal that it asked for before its time limit. A node whose agent was
// restarted meanwhile may ask a second time.
func (c *controller) onTimeNear(n *node, m *agentpb.TimeNear) {
	j, p := c.partOf(n, m.GetJobId())
	if p == nil || j.state != running || j.spec.GetWarnSignal() == 0 {
		return
	}
	_ = c.signal(j, j.spec.GetWarnSignal()) // it runs
}

func (c *controller) onPartDone(n *node, m *agentpb.NodeDone) {
	if j, p := c.partOf(n, m.GetJobId()); p != nil {
		c.onStartReport(j, p, m.GetStart())
		c.step(j, evNodeDone{p, m.GetUsage()})
	}
}

// onAbortReport handles the end of a job that a node asks for, or has come to without the leader.
func (c *controller) onAbortReport(n *node, m *agentpb.Abort) {
	j, p := c.partOf(n, m.GetJobId())
	if p == nil {
		return
	}
	m.Message = oneSentence(m.GetMessage())
	if m.GetLapsed() {
		c.step(j, evPartLost{p, m.GetMessage()})
		return
	}
	if m.GetPartLost() != "" && j.spec.GetRequeue() {
		c.onPartLost(j, p, oneSentence(m.GetPartLost()))
		return
	}
	c.onAbort(j, p, m)
}

func (c *controller) onRankExited(n *node, exit *agentpb.RankExited) {
	if j, p := c.partOf(n, exit.GetJobId()); p != nil {
		c.step(j, evExited{p, exit})
	}
}

// partOf returns the part of a job that the agent refers to. It tells an agent that does not know
// that the job is over.
func (c *controller) partOf(n *node, id uint64) (*job, *part) {
	j := c.jobs[id]
	if j == nil || j.state == done && j.forgotten {
		c.send(n.link, forgetMessage(id))
		return nil, nil
	}
	return j, j.part(n.name)
}

func (c *controller) onPrepared(n *node, m *agentpb.Prepared) {
	j, p := c.partOf(n, m.GetJobId())
	if p == nil {
		return
	}
	c.onStartReport(j, p, m.GetStart())
	if m.GetWarning() != "" {
		c.warn(j, oneSentence(m.GetWarning()))
	}
	if m.GetExitCode() == 0 && m.GetError() == "" {
		c.step(j, evPrepared{p})
		return
	}
	code := m.GetExitCode()
	if code == 0 {
		code = exitCluster
	}
	text := oneSentence(m.GetError())
	if text == "" {
		text = "node " + n.name + " could not get the job ready; look at the agent's log there"
	}
	c.step(j, evStop{&scorev1.Verdict{Reason: cannotStart, ExitCode: code, Message: text, Rank: noRank, Node: n.name}})
}

// onUsage records the latest usage of running jobs.
func (c *controller) onUsage(n *node, report *agentpb.SwitchReport) {
	for _, u := range report.GetUsage() {
		if j := c.jobs[u.GetJobId()]; j != nil && j.active() {
			if p := j.part(n.name); p != nil && !p.done {
				p.recordUsage(u.GetUsage(), c.now)
			}
		}
	}
}

func forgetMessage(id uint64) *agentpb.ServerMessage {
	return &agentpb.ServerMessage{Message: &agentpb.ServerMessage_Forget{Forget: &agentpb.Forget{JobId: id}}}
}
