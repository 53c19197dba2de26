package tag

import (
	"errors"
	"score/pm/uct"
)

// onEager takes a message whose bytes come along.
func (s *Stack) onEager(p *uct.Packet) {
	peer, e := s.from(p), s.endpoint(p.To)
	v, head, err := eagerOf(p)
	if err != nil || e == nil {
		refuse(p, err)
		return
	}
	peer.credit.onLimit(p.Arg)
	units, ok := s.admit(peer, v, p.Bits&bitWant != 0)
	if !ok {
		p.EP.Violated()
		return
	}
	from := Peer{Rank: uint32(p.Source), Port: p.From}
	r := e.match[v.space()].Arrive(from.source(), v.tag)
	if r == nil {
		s.counts.Unexpected++
		s.hold(e, p, v, head, from, units)
		return
	}
	s.counts.Expected++
	o := opOf(r)
	if o.many {
		o = o.part(v.length)
	}
	o.take(v, from)
	n, err := p.CopyTo(o.buf, head)
	s.settle(peer, units, v.length)
	if v.sync() {
		s.sendTaken(peer, v.number(), 0)
	}
	o.received(n, err)
}

// admit counts an eager message of a peer, and returns its units of the window. One beyond the window
// has none, and counts as an offer. It is false if the peer broke the protocol.
func (s *Stack) admit(p *peer, v envelope, beyond bool) (units uint32, ok bool) {
	if !beyond {
		units = unitsOf(v.length)
		return units, p.window.onArrival(units)
	}
	cost := beyondCost(v.length)
	if !v.sync() || v.length > maxBeyond || p.offers >= maxOffers || p.beyondKept+cost > maxBeyondBytes {
		return 0, false
	}
	p.offers++
	p.beyondKept += cost
	s.widen(p)
	return 0, true
}

// settle undoes admit when the message is not kept any more.
func (s *Stack) settle(p *peer, units uint32, length int) {
	if units == 0 {
		p.offers--
		p.beyondKept -= beyondCost(length)
		return
	}
	s.freed(p, units)
}

// refuse drops a peer that broke the protocol. A peer that only died within the message is reported
// separately.
func refuse(p *uct.Packet, err error) {
	if err == nil || errors.Is(err, uct.ErrPeer) {
		p.EP.Violated()
	}
}

// onOffer takes the envelope of a message whose bytes its sender keeps.
func (s *Stack) onOffer(p *uct.Packet) {
	v, from, err := offerOf(p)
	e := s.endpoint(p.To)
	peer := s.from(p)
	if err != nil || e == nil || peer.offers >= maxOffers {
		refuse(p, err)
		return
	}
	peer.offers++
	if p.Bits&bitWant != 0 {
		s.widen(peer)
	}
	h := s.newHeld()
	h.envelope, h.From, h.peer = v, Peer{Rank: uint32(p.Source), Port: p.From}, peer
	h.offer, h.exposed, h.id = true, from, p.Arg
	r := e.match[v.space()].Arrive(h.From.source(), v.tag)
	if r == nil {
		s.counts.Unexpected++
		h.msg.Source, h.msg.Tag = h.From.source(), v.tag
		s.enqueue(e, h)
		return
	}
	s.counts.Expected++
	o := opOf(r)
	if o.many {
		o = o.part(v.length)
	}
	o.takeHeld(h)
}
