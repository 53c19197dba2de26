package wire

import (
	"fmt"
	"score/nodeagent/pmi"
	"score/nodeagent/pmi/pmi1"
	"score/nodeagent/pmi/pmi2"
)

// Server serves all ranks of one job on one node.
type Server struct {
	engine   *pmi.Engine
	sessions []session
	effects  []Effect
	// out holds the replies of one call to the server.
	out []byte
	// line and body are reused for each request.
	line pmi1.Line
	body pmi2.Body
	// ended is set after Abort or Violation.
	ended bool
}

// NewServer returns a server for an engine, which it owns from then on.
func NewServer(engine *pmi.Engine) *Server {
	s := &Server{engine: engine, sessions: make([]session, len(engine.LocalRanks()))}
	for i, rank := range engine.LocalRanks() {
		s.sessions[i].rank = rank
	}
	return s
}

// Engine returns the engine, for reading its state.
func (s *Server) Engine() *pmi.Engine { return s.engine }

// Feed handles bytes that a rank of this node has sent, in pieces of any size. It may change data
// and does not keep it. The effects may be for other ranks, since one arrival releases a whole
// fence; they are valid until the next call.
func (s *Server) Feed(rank int, data []byte) []Effect {
	s.begin()
	session := s.session(rank)
	if s.ended || session.gone || len(data) == 0 {
		return nil
	}
	s.engine.Contact(rank)
	s.deliver()
	err := s.engine.SetProtocol(rank, session.protocol(data))
	if err == nil {
		err = session.feed(s, data)
	}
	s.deliver()
	if err != nil {
		s.violate(rank, err)
	}
	return s.effects
}

// RankGone handles the end of a rank's connection. It returns the rank's phase: pmi.PhaseActive
// means that the rank failed, whatever its exit status.
func (s *Server) RankGone(rank int) (pmi.Phase, []Effect) {
	s.begin()
	phase, err := s.engine.OnDisconnected(rank)
	s.session(rank).drop()
	// The phase of a failed rank is report enough; that others wait for it is only a consequence.
	if err != nil && phase != pmi.PhaseActive && !s.ended {
		s.violate(NoRank, err)
	}
	return phase, s.effects
}

// Do calls f with the engine and returns the effects. An error of f ends the job.
func (s *Server) Do(f func(*pmi.Engine) error) []Effect {
	s.begin()
	if s.ended {
		return nil
	}
	err := f(s.engine)
	s.deliver()
	if err != nil {
		s.violate(NoRank, err)
	}
	return s.effects
}

// OnRespawned records that a rank of this node, whose connection has ended, was started again with
// a new connection.
func (s *Server) OnRespawned(rank, incarnation int) []Effect {
	*s.session(rank) = session{rank: rank}
	return s.Do(func(e *pmi.Engine) error {
		e.OnRespawned(rank, incarnation)
		return nil
	})
}

func (s *Server) begin() {
	clear(s.effects)
	s.effects, s.out = s.effects[:0], s.out[:0]
}

func (s *Server) session(rank int) *session {
	slot, ok := s.engine.Slot(rank)
	if !ok {
		panic(fmt.Sprintf("wire: rank %d is not on this node", rank))
	}
	return &s.sessions[slot]
}

func (s *Server) violate(rank int, err error) {
	s.ended = true
	if rank != NoRank {
		err = fmt.Errorf("rank %d: %w", rank, err)
	}
	s.effects = append(s.effects, Effect{Kind: Violation, Rank: rank, Err: err})
}

// reply adds a Reply with the bytes appended to out since start. If out moves to a larger array
// later, the old array keeps the bytes.
func (s *Server) reply(rank, start int) {
	s.effects = append(s.effects, Effect{Kind: Reply, Rank: rank, Bytes: s.out[start:len(s.out):len(s.out)]})
}

// deliver turns the engine's events into effects.
func (s *Server) deliver() {
	events := s.engine.Events()
	for i := range events {
		s.deliverOne(&events[i])
	}
}

func (s *Server) deliverOne(event *pmi.Event) {
	switch event.Kind {
	case pmi.EventReleased, pmi.EventRing, pmi.EventAttr, pmi.EventNameAnswer, pmi.EventSpawnAnswer:
		session := s.session(event.Rank)
		if session.gone {
			return
		}
		start := len(s.out)
		s.out = session.answer(s.out, event)
		s.reply(event.Rank, start)
	case pmi.EventContact:
		s.effects = append(s.effects, Effect{Kind: Contact, Rank: event.Rank})
	case pmi.EventFenceReady, pmi.EventNameOp, pmi.EventSpawn:
		kept := *event // the engine uses its own again
		s.effects = append(s.effects, Effect{Kind: Event, Rank: event.Rank, Event: &kept})
	case pmi.EventAbort:
		s.ended = true
		s.effects = append(s.effects, Effect{Kind: Abort, Rank: event.Rank, Code: event.Code, Message: event.Value})
	case pmi.EventRespawn:
		s.effects = append(s.effects, Effect{Kind: Respawn, Rank: event.Rank, Code: event.Code})
	case pmi.EventFinalized:
		s.effects = append(s.effects, Effect{Kind: Finalized, Rank: event.Rank})
	case pmi.EventCard, pmi.EventGroup, pmi.EventNotice, pmi.EventRelay, pmi.EventPlaces:
		// Events of PMIx.
	}
}
