package pmix

import (
	"score/nodeagent/pmi"
	"score/nodeagent/pmi/pmix/bfrops"
	"score/nodeagent/pmi/pmix/message"
)

// deliver turns the engine's events into effects.
func (s *Server) deliver() {
	for more := true; more; more = s.askWider() {
		events := s.engine.Events()
		for i := range events {
			s.deliverOne(&events[i])
		}
	}
}

func (s *Server) deliverOne(event *pmi.Event) {
	switch event.Kind {
	case pmi.EventContact:
		s.effect(Effect{Kind: Contact, Rank: event.Rank})
	case pmi.EventRespawn:
		s.effect(Effect{Kind: Respawn, Rank: event.Rank, Code: event.Code})
	case pmi.EventFinalized:
		s.effect(Effect{Kind: Finalized, Rank: event.Rank})
	case pmi.EventAbort:
		s.ended = true
		s.effect(Effect{Kind: Abort, Rank: event.Rank, Code: event.Code, Text: event.Value})
	case pmi.EventFenceReady, pmi.EventNameOp, pmi.EventSpawn, pmi.EventRelay, pmi.EventPlaces:
		s.effect(Effect{Kind: Event, Rank: event.Rank, Event: *event})
	default:
		if slot, ok := s.engine.Slot(event.Rank); ok && s.ranks[slot] != nil {
			s.answer(s.ranks[slot], event)
		}
	}
}

// answer replies to a request that had to wait.
func (s *Server) answer(c *conn, event *pmi.Event) {
	switch event.Kind {
	case pmi.EventReleased:
		code := message.Success
		if event.Outcome == pmi.Missing {
			code = message.ErrUnreachable
		}
		s.status(c, uint32(event.Tag), code)
	case pmi.EventGroup:
		s.answerGroup(c, event)
	case pmi.EventCard:
		s.answerCard(c, event)
	case pmi.EventNameAnswer:
		s.answerName(c, event)
	case pmi.EventSpawnAnswer:
		s.answerSpawn(c, event)
	case pmi.EventNotice:
		s.notify(c, event.Notice)
	default: // of PMI-1 and PMI-2
	}
}

func (s *Server) answerGroup(c *conn, event *pmi.Event) {
	switch {
	case !event.OK:
		s.status(c, uint32(event.Tag), message.ErrUnreachable)
	case event.Group.Kind == pmi.GroupConstruct:
		reply := message.Constructed{Number: event.Group.Number}
		for _, p := range event.Group.Procs {
			reply.Members = append(reply.Members, s.procName(p))
		}
		w := s.writer(c)
		reply.Write(w, c.release)
		s.send(c, uint32(event.Tag), w)
	default:
		s.status(c, uint32(event.Tag), message.Success)
	}
}

func (s *Server) answerCard(c *conn, event *pmi.Event) {
	job := event.Job
	if job == 0 {
		job = s.config.Job
	}
	tag := uint32(event.Tag)
	switch {
	case event.Outcome == pmi.TimedOut:
		s.status(c, tag, message.ErrTimeout)
	case event.Outcome != pmi.Found:
		s.status(c, tag, message.ErrNotFound)
	case event.Of < 0:
		c.otherJob(s, tag, job)
	default:
		c.card(s, tag, bfrops.Proc{Namespace: s.config.NameOf(job), Rank: uint32(event.Of)}, event.Pairs)
	}
}
