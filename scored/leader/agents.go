package leader

import (
	"strings"

	"score/scored/api/quote"
	"score/scored/api/scorev1"
	"score/scored/api/texts"
)

// message handles what an agent says; a link that another has replaced is not
// listened to.
func (b *controller) message(name string, link Link, m *scorev1.AgentMessage) {
	n := b.nodes[name]
	if n == nil || n.link != link {
		return
	}
	n.heard = b.now
	switch m := m.GetMessage().(type) {
	case *scorev1.AgentMessage_Ping:
		n.heartbeat(m.Ping)
	case *scorev1.AgentMessage_Prepared:
		b.prepared(n, m.Prepared)
	case *scorev1.AgentMessage_Launched:
		if j, p := b.partOf(n, m.Launched.GetJobId()); p != nil {
			b.startTold(j, p, m.Launched.GetStart())
			b.step(j, evLaunched{p, m.Launched.GetAtNanos()})
		}
	case *scorev1.AgentMessage_RankExited:
		b.rankExited(n, m.RankExited)
	case *scorev1.AgentMessage_RanksExited:
		for _, exit := range m.RanksExited.GetExits() {
			b.rankExited(n, exit)
		}
	case *scorev1.AgentMessage_NodeDone:
		if j, p := b.partOf(n, m.NodeDone.GetJobId()); p != nil {
			b.startTold(j, p, m.NodeDone.GetStart())
			b.step(j, evNodeDone{p, m.NodeDone.GetUsage()})
		}
	case *scorev1.AgentMessage_Abort:
		if j, p := b.partOf(n, m.Abort.GetJobId()); p != nil {
			if m.Abort.GetLapsed() {
				b.step(j, evPartLost{p, oneSentence(m.Abort.GetMessage())})
				return
			}
			m.Abort.Message = oneSentence(m.Abort.GetMessage())
			b.aborted(j, p, m.Abort)
		}
	case *scorev1.AgentMessage_TimeUp:
		if j, p := b.partOf(n, m.TimeUp.GetJobId()); p != nil {
			b.step(j, evStop{timeVerdict(j.spec)})
		}
	case *scorev1.AgentMessage_SwitchReport:
		b.takeUsage(n, m.SwitchReport)
	case *scorev1.AgentMessage_Name:
		b.nameRequest(n, m.Name)
	case *scorev1.AgentMessage_Places:
		b.askPlaces(n, m.Places)
	case *scorev1.AgentMessage_Spawn:
		b.spawn(n, m.Spawn)
	case *scorev1.AgentMessage_Note:
		if j, p := b.partOf(n, m.Note.GetJobId()); p != nil {
			b.warn(j, texts.UTF8(m.Note.GetText()))
		}
	case *scorev1.AgentMessage_RankStates:
		b.rankStates(n, m.RankStates)
	case *scorev1.AgentMessage_Suspicion:
		b.suspected(n, m.Suspicion)
	case *scorev1.AgentMessage_Cut:
		b.heardCut(n, m.Cut)
	case *scorev1.AgentMessage_Channels:
		b.channels(n, m.Channels)
	}
}

func (b *controller) rankExited(n *node, exit *scorev1.RankExited) {
	if j, p := b.partOf(n, exit.GetJobId()); p != nil {
		b.step(j, evExited{p, exit})
	}
}

// partOf finds the part of a job that the agent speaks of. An agent that does
// not know that the job is over is told so.
func (b *controller) partOf(n *node, id uint64) (*job, *part) {
	j := b.jobs[id]
	if j == nil || j.state == done && j.forgotten {
		b.send(n.link, forgetMessage(id))
		return nil, nil
	}
	return j, j.part(n.name)
}

func (b *controller) prepared(n *node, m *scorev1.Prepared) {
	j, p := b.partOf(n, m.GetJobId())
	if p == nil {
		return
	}
	b.startTold(j, p, m.GetStart())
	if m.GetWarning() != "" {
		b.warn(j, texts.UTF8(m.GetWarning()))
	}
	if m.GetExitCode() == 0 && m.GetError() == "" {
		b.step(j, evPrepared{p})
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
	b.step(j, evStop{&scorev1.Verdict{Reason: cannotStart, ExitCode: code, Message: text, Rank: noRank, Node: n.name}})
}

// oneSentence is what the log and the user get of a reason that an agent gives: one line, of
// bounded length however long the paths in it are, with escapes for what cannot be read.
func oneSentence(text string) string {
	return quote.Sentence(strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "; "))
}

// takeUsage keeps the latest word on what running jobs have used.
func (b *controller) takeUsage(n *node, report *scorev1.SwitchReport) {
	for _, u := range report.GetUsage() {
		if j := b.jobs[u.GetJobId()]; j != nil && j.active() {
			if p := j.part(n.name); p != nil && !p.done {
				p.use(u.GetUsage(), b.now)
			}
		}
	}
}

func forgetMessage(id uint64) *scorev1.ServerMessage {
	return &scorev1.ServerMessage{Message: &scorev1.ServerMessage_Forget{Forget: &scorev1.Forget{JobId: id}}}
}
