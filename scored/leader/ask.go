package leader

import (
	"cmp"
	"score/scored/api/agentpb"
	"score/scored/api/scorev1"
	"slices"
	"time"
)

// askTimeout is how long the nodes have to report what their ranks are doing: a user has pressed ^C
// and waits for the answer.
const askTimeout = time.Second

// ask is a pending question to nodes. It ends when all have answered, or at askTimeout.
type ask struct {
	id       uint64
	waiting  map[string]bool // nodes that have not answered
	ranks    []*scorev1.RankState
	gangOn   bool
	channels []*scorev1.ChannelState
	over     func() // called once
}

// asks are the pending questions to nodes, by number. Their numbers go on under the next controller
// of the same term, so that it does not take answers to others as answers to its own.
type asks struct {
	pending map[uint64]*ask
	last    uint64
}

// open adds a question, which sendAsk sends to nodes.
func (all *asks) open() *ask {
	all.last++
	a := &ask{id: all.last, waiting: make(map[string]bool)}
	all.pending[a.id] = a
	return a
}

// answer passes a node's answer to the question, if that is still pending.
func (all *asks) answer(node string, id uint64, take func(*ask)) {
	a := all.pending[id]
	if a == nil || !a.waiting[node] {
		return
	}
	delete(a.waiting, node)
	take(a)
	if len(a.waiting) == 0 {
		all.end(id)
	}
}

// end ends a question if it is still pending, whoever has not answered.
func (all *asks) end(id uint64) {
	if a := all.pending[id]; a != nil {
		delete(all.pending, id)
		a.over()
	}
}

// sendAsk sends the question to a node, and reports whether that is connected.
func (c *controller) sendAsk(a *ask, n *node, message *agentpb.ServerMessage) bool {
	if !n.connected() {
		return false
	}
	a.waiting[n.name] = true
	c.send(n.link, message)
	return true
}

// startWait starts to wait for the answers, after all nodes were asked.
func (c *controller) startWait(a *ask) {
	if len(a.waiting) == 0 {
		c.asks.end(a.id)
		return
	}
	c.timers.add(timer{at: c.now + askTimeout.Nanoseconds(), kind: timerAsk, id: a.id})
}

// askRanks asks the job's nodes for the states of its ranks, and calls answered with the answers
// that have come.
func (c *controller) askRanks(j *job, answered func(*scorev1.AttachEvent_RankStates)) {
	a := c.asks.open()
	a.over = func() {
		slices.SortFunc(a.ranks, func(x, y *scorev1.RankState) int { return cmp.Compare(x.GetRank(), y.GetRank()) })
		answer := &scorev1.AttachEvent_RankStates{Ranks: a.ranks, GangOn: a.gangOn}
		c.call(func(error) { answered(answer) })
	}
	for _, p := range j.parts {
		if !j.forgotten {
			c.sendAsk(a, c.nodes[p.Node], &agentpb.ServerMessage{Message: &agentpb.ServerMessage_AskRankStates{
				AskRankStates: &agentpb.AskRankStates{Request: a.id, JobId: j.id},
			}})
		}
	}
	c.startWait(a)
}

// onRankStates handles a node's answer.
func (c *controller) onRankStates(n *node, m *agentpb.RankStatesReply) {
	if j := c.jobs[m.GetJobId()]; j != nil {
		if p := j.part(n.name); p != nil {
			c.onStartReport(j, p, m.GetStart())
		}
	}
	c.asks.answer(n.name, m.GetRequest(), func(a *ask) {
		for _, rank := range m.GetRanks() {
			rank.Node = n.name
			a.ranks = append(a.ranks, rank)
		}
		a.gangOn = a.gangOn || m.GetGangOn()
	})
}
