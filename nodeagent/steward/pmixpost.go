package steward

import (
	"score/nodeagent/pmi"
	"score/nodeagent/steward/post"
	"score/nodeagent/steward/stewardpb"
	"score/scored/api/scorev1"
)

// sendRelay sends a message to the steward of another node or job.
func (s *steward) sendRelay(e *pmi.Event) {
	to := post.Peer{Job: e.Job, Node: uint32(e.Node)}
	letter, err := s.job.pmix.post.Send(s.now(), to, e.Data)
	if err != nil {
		s.lostRelay(to, e.Data)
		return
	}
	s.carry(letter)
}

// carry hands a message to the agent. Without one it is kept, and handed to the next.
func (s *steward) carry(l post.Letter) {
	s.send(&stewardpb.FromSteward{Message: &stewardpb.FromSteward_Relay{Relay: &stewardpb.Relay{
		JobId: l.To.Job, NodeIndex: l.To.Node, Address: s.job.addressOf(l.To.Job, int(l.To.Node)), Data: l.Data,
		Envelope: &scorev1.Envelope{
			Stream: l.Stream, Number: l.Number, Least: l.Least, HeardStream: l.HeardStream, Heard: l.Heard},
	}}})
}

// replayRelays hands a new agent what may have been lost with the one before.
func (s *steward) replayRelays() {
	if e := s.endpoint(); e != nil {
		for _, letter := range e.post.Again(s.now()) {
			s.carry(letter)
		}
	}
}

// relayed takes a message of the steward of another node or job.
func (s *steward) relayed(m *stewardpb.Relay) {
	e := s.endpoint()
	if e == nil {
		return
	}
	from, envelope := post.Peer{Job: m.GetJobId(), Node: m.GetNodeIndex()}, m.GetEnvelope()
	if !e.post.Take(s.now(), from, post.Envelope{
		Stream: envelope.GetStream(), Number: envelope.GetNumber(), Least: envelope.GetLeast(),
		HeardStream: envelope.GetHeardStream(), Heard: envelope.GetHeard(),
	}) {
		return
	}
	s.keeps(len(m.GetData()))
	s.doPMIx(func(e *pmi.Engine) error {
		return e.Relayed(s.now(), m.GetJobId(), int(m.GetNodeIndex()), m.GetData())
	})
}

// relayFailed takes back a message to a job that is not there.
func (s *steward) relayFailed(m *stewardpb.Relay) {
	e := s.endpoint()
	if e == nil {
		return
	}
	to := post.Peer{Job: m.GetJobId(), Node: m.GetNodeIndex()}
	if data, ok := e.post.Gone(to, m.GetEnvelope().GetNumber()); ok {
		s.lostRelay(to, data)
	}
}

// lostRelay tells the engine of a message that will not arrive, once the engine is
// through with what it does: it may have sent the message right now.
func (s *steward) lostRelay(to post.Peer, data []byte) {
	of := s.job.pmix
	s.loop.post(func() {
		if s.endpoint() != of {
			return // the job is over
		}
		s.doPMIx(func(e *pmi.Engine) error {
			e.RelayFailed(to.Job, int(to.Node), data)
			return nil
		})
	})
}

// tickRelays repeats what was not acknowledged, acknowledges, and gives up.
func (s *steward) tickRelays(e *pmixEndpoint) {
	letters, lost := e.post.Tick(s.now())
	for _, letter := range letters {
		s.carry(letter)
	}
	for _, letter := range lost {
		s.lostRelay(letter.To, letter.Data)
	}
}
