package steward

import (
	"errors"
	"fmt"
	"score/nodeagent/fence"
	"score/nodeagent/launch"
	"score/nodeagent/pmi"
	"score/nodeagent/steward/reliable"
	"score/nodeagent/steward/stewardpb"
	"score/scored/api/agentpb"
	"score/scored/api/scorev1"
	"time"

	"google.golang.org/protobuf/proto"
)

// fences carries out a job's collectives with little data. The agents carry out those with more.
type fences struct {
	smallExchange *fence.SmallExchange // nil: all are the agents'
	// seq is the engine's number of the fence under way; 0: there is none.
	seq uint64
	// ended is the reason why there can be no more fences; "" while there can.
	ended      string
	stats      pmi.Stats
	last       uint64 // number of the last fence that began here
	reportedAt time.Time
}

// fencesPause is the time between two reports of the number of fences to the agent.
const fencesPause = time.Second

// newFences returns the fences of a job. The agents of all its nodes must have stewards that
// support them.
func newFences(j *job) fences {
	order := j.order.GetJob()
	if !order.GetFencesByMessage() || j.nodes < 2 {
		return fences{}
	}
	smallExchange, err := fence.NewSmallExchange(j.nodes, int(order.GetNodeIndex()), fence.Algorithm(j.spec.GetExchange()))
	if err != nil {
		return fences{} // the agent finds the same, and reports it
	}
	return fences{smallExchange: smallExchange}
}

// fence gives this node's piece to a fence.
func (s *steward) fence(seq uint64, data []byte, stats pmi.Stats) {
	f := &s.messages.fences
	if f.smallExchange == nil {
		s.ask(request{kind: requestCollective, number: seq}, collectiveMessage(seq, data, stats))
		return
	}
	f.seq, f.last, f.stats = seq, seq, stats
	if f.ended != "" {
		s.endFence(f.ended)
		return
	}
	s.countFences()
	s.applySmallExchange(f.smallExchange.Add(fence.Op{Kind: fence.KindFence, Seq: seq}, append([]byte(nil), data...)))
}

// applySmallExchange applies the machine's effects.
func (s *steward) applySmallExchange(effects []fence.Effect) {
	f := &s.messages.fences
	for i := range effects {
		switch e := &effects[i]; e.Kind {
		case fence.Send:
			s.sendCollective(e.To, &e.Message)
		case fence.Done:
			kind, parts := e.Message.Op.Kind, e.Message.Data
			s.runLater(func() { s.finishFence(kind, parts) }) // this may lead to the next fence
		case fence.Large:
			op := e.Message.Op
			s.ask(request{kind: requestCollective, number: op.Seq}, collectiveMessage(op.Seq, e.Message.Data[0], f.stats))
		case fence.Failed:
			s.endFence(s.job.failure(e.Err))
		}
	}
}

func (s *steward) sendCollective(to int, m *fence.Message) {
	data, err := proto.Marshal(&agentpb.CollectRequest{
		Kind: uint32(m.Op.Kind), Sequence: m.Op.Seq, Algorithm: uint32(m.Via), Step: uint32(m.Step), Data: m.Data,
	})
	if err != nil {
		s.endFence(s.job.failure(err))
		return
	}
	s.write(reliable.Peer{Job: s.job.id, Node: uint32(to)}, data, reliable.SendOptions{Kind: messageCollective, Timeout: collectiveTimeout})
}

// maxKind is the largest fence.Kind or fence.Algorithm of a message; the machine checks which
// exist.
const maxKind = 1<<8 - 1

var errCollective = errors.New("this is no step of a collective")

func readCollective(data []byte) (fence.Message, error) {
	var m agentpb.CollectRequest
	if err := proto.Unmarshal(data, &m); err != nil || m.GetKind() > maxKind || m.GetAlgorithm() > maxKind {
		return fence.Message{}, errCollective
	}
	return fence.Message{
		Op:  fence.Op{Kind: fence.Kind(m.GetKind()), Seq: m.GetSequence()},
		Via: fence.Algorithm(m.GetAlgorithm()), Step: fence.Step(m.GetStep()), Data: m.GetData(),
	}, nil
}

// takeCollective handles a step of a collective.
func (s *steward) takeCollective(from reliable.Peer, data []byte) {
	f := &s.messages.fences
	if f.smallExchange == nil || from.Job != s.job.id {
		return
	}
	m, err := readCollective(data)
	if err != nil {
		s.endFence(fmt.Sprintf("node %s: node %d of the job: %v", s.job.node, from.Node, err))
		return
	}
	s.applySmallExchange(f.smallExchange.Receive(int(from.Node), m))
}

// lostCollective ends the fences if a step cannot arrive. If the exchange is over here and the
// other node's part of the job is over, the step has arrived. If nobody answers, ranks there may
// still wait for it.
func (s *steward) lostCollective(lost reliable.Message, reason error) {
	f, places := &s.messages.fences, s.job.order.GetJob().GetPlaces()
	m, err := readCollective(lost.Data)
	switch {
	case err != nil, int(lost.To.Node) >= len(places), errors.Is(reason, errNoJob) && m.Op.Seq != f.seq:
		return
	case errors.Is(reason, reliable.ErrFull):
		s.endFence(s.job.failure(reason))
		return
	}
	place := places[lost.To.Node]
	text := fmt.Sprintf("node %s cannot be reached at %s: %v", place.GetNode(), place.GetAddress(), reason)
	part := &stewardpb.PartLost{NodeIndex: lost.To.Node, Reason: text}
	s.send(&stewardpb.FromSteward{Message: &stewardpb.FromSteward_PartLost{PartLost: part}})
	s.endFence(fmt.Sprintf("node %s: %s", s.job.node, text))
}

// endFence ends the job if its ranks are in a fence, or when they enter the next one. If the job
// survives losses, endFence only notifies the ranks that there are no more fences.
func (s *steward) endFence(reason string) {
	f := &s.messages.fences
	f.ended = reason
	switch {
	case f.seq == 0:
	case s.survivesLoss():
		f.seq = 0
		s.noFences(reason)
	default:
		s.abort(-1, launch.CodeCluster, reason)
	}
}

// answerCollective handles the agent's answer: the data of all nodes for a large fence, or why
// there are no more fences.
func (s *steward) answerCollective(m *stewardpb.CollectiveResult) {
	if m.GetSequence() == 0 && m.GetError() != "" && s.messages != nil {
		s.endFence(m.GetError())
		return
	}
	if !s.answered(request{kind: requestCollective, number: m.GetSequence()}) {
		return
	}
	if m.GetError() != "" && s.survivesLoss() {
		s.messages.fences.ended = m.GetError()
		s.noFences(m.GetError())
		return
	}
	if m.GetError() != "" {
		s.abort(-1, launch.CodeCluster, m.GetError())
		return
	}
	if s.messages.fences.smallExchange == nil {
		s.messages.fences.seq = m.GetSequence()
	}
	s.finishFence(fence.Kind(m.GetKind()), m.GetData())
}

// noFences notifies the ranks that there are no more fences of all ranks.
func (s *steward) noFences(reason string) {
	s.withEngine(func(e *pmi.Engine) error {
		e.FencesEnd(reason)
		return nil
	})
}

// finishFence ends a fence with the data of all nodes.
func (s *steward) finishFence(kind fence.Kind, parts [][]byte) {
	f := &s.messages.fences
	size, seq := 0, f.seq
	f.seq = 0
	for _, part := range parts {
		size += len(part)
	}
	s.countMemory(size)
	all := make([]byte, 0, size)
	for _, part := range parts {
		all = append(all, part...)
	}
	s.exchanged(kind, func() {
		s.withEngine(func(e *pmi.Engine) error { return e.FenceDone(seq, all) })
	})
}

// countFences reports the number of fences to the agent now and then.
func (s *steward) countFences() {
	if f, now := &s.messages.fences, s.now(); now.Sub(f.reportedAt) >= fencesPause {
		f.reportedAt = now
		s.sendLater(f.message())
	}
}

// notifyFences reports the number when no more fences will come.
func (s *steward) notifyFences() {
	if s.messages != nil && s.messages.fences.smallExchange != nil && s.messages.fences.last > 0 {
		s.send(s.messages.fences.message())
	}
}

func (f *fences) message() *stewardpb.FromSteward {
	return &stewardpb.FromSteward{Message: &stewardpb.FromSteward_Fences{Fences: &scorev1.Fences{
		Fences: f.last, PlainBytes: f.stats.PlainBytes, PackedBytes: f.stats.PackedBytes,
	}}}
}
