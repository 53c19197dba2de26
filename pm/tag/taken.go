package tag

import "score/pm/uct"

// onTaken ends a send whose bytes a receive has.
func (s *Stack) onTaken(p *uct.Packet) {
	o := s.sends.Get(p.Arg)
	if o == nil || int(o.peer.Rank) != p.Source {
		return // the send has ended with the loss of the peer, or the number is nonsense
	}
	if p.Bits&bitFailed != 0 {
		s.endAwaited(o, ErrUnread)
		return
	}
	s.endAwaited(o, nil)
}

// endAwaited ends a send that waits for its receiver's answer.
func (s *Stack) endAwaited(o *Op, err error) {
	s.sends.Remove(o.id)
	if o.state == untaken {
		s.untaken--
		o.to.beyondSent -= o.beyond
		o.beyond = 0
	} else {
		s.md.Conceal(o.exposed)
	}
	o.finish(err)
}
