package tag

import (
	"errors"
	"score/pm/uct"
)

// onEager takes a message whose bytes come along.
func (s *Stack) onEager(p *uct.Packet) {
	peer, e := s.known(p.Source), s.endpoint(p.To)
	if peer == nil {
		peer = s.from(p)
	}
	tag, there := p.Word()
	v, head := envelope{tag: tag, length: p.Len() - eagerHead, word: uint64(p.Bits & bitSpace)}, eagerHead
	if !there || p.Bits&(bitData|bitSync) != 0 {
		var err error
		if v, head, err = eagerOf(p); err != nil {
			refuse(p, err)
			return
		}
	}
	if e == nil {
		p.EP.Violated()
		return
	}
	peer.credit.onLimit(p.Arg)
	units := uint32(0) // none beyond the window
	if p.Bits&bitWant == 0 {
		units = unitsOf(v.length)
	}
	if units > 0 && !peer.window.onArrival(units) || units == 0 && !s.admitBeyond(peer, v) {
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
	if units > 0 {
		peer.window.free(units)
		if peer.gone || peer.window.due() {
			s.onFreed(peer, units)
		}
	} else {
		peer.freedBeyond(v.length)
	}
	if v.sync() {
		s.sendTaken(peer, v.number(), 0)
	}
	o.received(n, err)
}

// admitBeyond counts an eager message beyond the window, as an offer. It is false if the peer broke
// the protocol.
func (s *Stack) admitBeyond(p *peer, v envelope) bool {
	cost := beyondCost(v.length)
	if !v.sync() || v.length > maxBeyond || p.offers >= maxOffers || p.beyondKept+cost > maxBeyondBytes {
		return false
	}
	p.offers++
	p.beyondKept += cost
	s.widen(p)
	return true
}

// freedBeyond undoes admitBeyond when the message is not kept any more.
func (p *peer) freedBeyond(length int) {
	p.offers--
	p.beyondKept -= beyondCost(length)
}

// settle records that an eager message is not kept any more.
func (s *Stack) settle(p *peer, units uint32, length int) {
	if units == 0 {
		p.freedBeyond(length)
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
