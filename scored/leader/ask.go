package leader

import (
	"cmp"
	"slices"
	"time"

	"score/scored/api/scorev1"
)

// askTimeout is how long the nodes have to tell what their ranks are doing. A
// user has pressed ^C and waits for the answer.
const askTimeout = time.Second

// ask is a question about the ranks of a job, on its way to the nodes.
type ask struct {
	id       uint64
	waiting  map[string]bool
	ranks    []*scorev1.RankState
	gangOn   bool
	answered func(*scorev1.AttachEvent_RankStates)
}

// askRanks asks the job's nodes for the states of its ranks; answered is
// called with what has come when all have answered or askTimeout is over.
func (b *brain) askRanks(j *job, answered func(*scorev1.AttachEvent_RankStates)) {
	b.nextAsk++
	a := &ask{id: b.nextAsk, waiting: make(map[string]bool), answered: answered}
	b.asks[a.id] = a
	for _, p := range j.parts {
		n := b.nodes[p.Node]
		if n == nil || n.link == nil || j.forgotten {
			continue
		}
		a.waiting[n.name] = true
		b.send(n.link, &scorev1.ServerMessage{Message: &scorev1.ServerMessage_AskRankStates{
			AskRankStates: &scorev1.AskRankStates{Request: a.id, JobId: j.id},
		}})
	}
	if len(a.waiting) == 0 {
		b.finishAsk(a)
		return
	}
	b.timers.add(timer{at: b.now + askTimeout.Nanoseconds(), kind: timerAsk, id: a.id})
}

// rankStates takes a node's answer.
func (b *brain) rankStates(n *node, m *scorev1.RankStatesReply) {
	a := b.asks[m.GetRequest()]
	if a == nil || !a.waiting[n.name] {
		return
	}
	delete(a.waiting, n.name)
	for _, rank := range m.GetRanks() {
		rank.Node = n.name
		a.ranks = append(a.ranks, rank)
	}
	a.gangOn = a.gangOn || m.GetGangOn()
	if len(a.waiting) == 0 {
		b.finishAsk(a)
	}
}

func (b *brain) finishAsk(a *ask) {
	delete(b.asks, a.id)
	slices.SortFunc(a.ranks, func(x, y *scorev1.RankState) int { return cmp.Compare(x.GetRank(), y.GetRank()) })
	answer := &scorev1.AttachEvent_RankStates{Ranks: a.ranks, GangOn: a.gangOn}
	b.call(func(error) { a.answered(answer) })
}
