package tag

import (
	"errors"
	"score/pm/tag/match"
	"score/pm/uct"
)

// Receive begins a receive into buf. A message that is longer ends it with ErrTruncated. The error
// is ErrBusy, ErrClosed, or why the source is lost if no message of it is here; then the operation
// was not begun.
func (e *Endpoint) Receive(o *Op, c Criteria, buf []byte) error {
	if err := e.ready(o); err != nil {
		return err
	}
	o.prepare(e, c, buf)
	return e.post(o)
}

// ready returns why an operation may not begin, or nil.
func (e *Endpoint) ready(o *Op) error {
	if o.state != idle {
		return ErrBusy
	}
	if !e.open {
		return ErrClosed
	}
	return nil
}

// ReceiveMany begins a receive of many messages into one buffer, one behind the other, until fewer
// than least bytes are left or it is canceled. OnDone is called for each message; with the last
// one, Last is set.
func (e *Endpoint) ReceiveMany(o *Op, c Criteria, buf []byte, minLeft int) error {
	if err := e.ready(o); err != nil {
		return err
	}
	o.prepare(e, c, buf)
	o.many, o.minLeft = true, max(minLeft, 1)
	o.recv.Multi = true
	return e.post(o)
}

func (o *Op) prepare(e *Endpoint, c Criteria, buf []byte) {
	o.ep, o.space, o.buf = e, c.Space, buf
	o.many, o.detached, o.Last = false, false, false
	o.recv.Criteria, o.recv.Multi = c.match(), false
}

// post gives the receive the messages that came before it, then has it wait.
func (e *Endpoint) post(o *Op) error {
	o.state = posted
	for took := false; ; took = true {
		u := e.match[o.space].Post(&o.recv)
		if u == nil && e.stack.alive(o.recv.Source) {
			return nil
		}
		if u == nil {
			return e.endUnlessAlive(o, took)
		}
		h := heldOf(u)
		if !o.many {
			o.takeHeld(h)
			return nil
		}
		if !o.takeInto(h) {
			return nil
		}
	}
}

// alive reports whether the source of a receive may still send, if that is known at once.
func (s *Stack) alive(source uint32) bool {
	rank := int(source & rankMask)
	return source == match.AnySource || rank < len(s.peers) && (s.peers[rank] == nil || !s.peers[rank].gone)
}

// endUnlessAlive takes back a receive from a peer that sends nothing any more, and returns the
// error with which it never began. A receive that took messages before ends instead.
func (e *Endpoint) endUnlessAlive(o *Op, took bool) error {
	err := e.stack.sourceError(o.recv.Source)
	if err == nil {
		return nil
	}
	e.match[o.space].Cancel(&o.recv)
	if took {
		o.unposted(err)
		return nil
	}
	o.state = idle
	return err
}

// sourceError returns why a source that is not alive cannot send.
func (s *Stack) sourceError(source uint32) error {
	p, err := s.peer(int(source & rankMask))
	if err == nil && p.gone {
		err = p.ep.Err()
	}
	return err
}

// Probe returns the oldest message that matches and that no receive has taken; nil if there is
// none. It stays where it is.
func (e *Endpoint) Probe(c Criteria) *Held {
	if u := e.match[c.Space].Peek(c.match()); u != nil {
		return heldOf(u)
	}
	return nil
}

// Claim is Probe that also removes the message: from then on only ReceiveHeld or Discard gets it.
func (e *Endpoint) Claim(c Criteria) *Held {
	if u := e.match[c.Space].Claim(c.match()); u != nil {
		return heldOf(u)
	}
	return nil
}

// ReceiveHeld receives a message that was claimed.
func (e *Endpoint) ReceiveHeld(o *Op, h *Held, buf []byte) error {
	if err := e.ready(o); err != nil {
		return err
	}
	o.prepare(e, Criteria{Space: h.envelope.space(), Source: h.From, Tag: h.Tag()}, buf)
	o.takeHeld(h)
	return nil
}

// Discard drops a message that was claimed.
func (e *Endpoint) Discard(h *Held) { e.stack.drop(h) }

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

// widen doubles the window of a peer to which it was too narrow, and says so.
func (s *Stack) widen(p *peer) {
	if s.pool.widen(&p.window) {
		s.announceWindow(p)
	}
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

// take records the message that the receive got.
func (o *Op) take(v envelope, from Peer) {
	o.From, o.Tag, o.Length, o.Data, o.HasData = from, v.tag, v.length, v.data, v.hasData()
}

// received ends a receive that has n bytes.
func (o *Op) received(n int, err error) {
	o.Bytes = o.buf[:n]
	if err == nil && o.Length > len(o.buf) {
		err = ErrTruncated
	}
	if o.parent != nil {
		o.endPart(err)
		return
	}
	o.finish(err)
}

// part takes space for a message of the length from a buffer for many.
func (o *Op) part(length int) *Op {
	n := min(length, len(o.buf))
	child := o.ep.stack.newOp()
	child.ep, child.parent, child.space = o.ep, o, o.space
	child.buf = o.buf[:n:n]
	o.buf = o.buf[n:]
	o.pending++
	if len(o.buf) < o.minLeft {
		o.ep.match[o.space].Cancel(&o.recv)
		o.detached = true
	}
	return child
}

// endPart reports a message that is in a buffer for many.
func (o *Op) endPart(err error) {
	parent := o.parent
	parent.pending--
	parent.Result = o.Result
	parent.Err = err
	o.Result = Result{} // its bytes are the caller's
	o.ep.stack.recycle(o)
	if parent.detached && parent.pending == 0 {
		parent.Last = true
		parent.finish(err)
		return
	}
	if parent.OnDone != nil {
		parent.OnDone(parent)
	}
}

// takeInto takes a message into a buffer for many, and reports whether it takes more.
func (o *Op) takeInto(h *Held) bool {
	o.part(h.Length()).takeHeld(h)
	return !o.detached
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

// takeHeld gives a receive a message that came before it.
func (o *Op) takeHeld(h *Held) {
	s := o.ep.stack
	o.take(h.envelope, h.From)
	if !h.offer {
		n := copy(o.buf, h.bytes)
		s.drop(h)
		o.received(n, nil)
		return
	}
	o.state, o.held = fetching, h
	if o.fetch() == uct.ErrAgain { //nolint:errorlint // this very value
		h.peer.ep.Pend(o)
	}
}

// fetch begins to fetch the bytes of an offer.
func (o *Op) fetch() error {
	h := o.held
	n := min(len(o.buf), h.envelope.length)
	err := h.peer.ep.Pull(o.buf[:n], h.exposed, o)
	if err != nil && err != uct.ErrAgain { //nolint:errorlint // this very value
		o.Complete(err)
	}
	return err
}

// Complete is called when the bytes of an offer are there.
func (o *Op) Complete(err error) {
	h, s := o.held, o.ep.stack
	o.held = nil
	h.peer.offers--
	n := min(len(o.buf), h.envelope.length)
	bits := uint8(0)
	if err != nil {
		n, bits = 0, bitFailed
	}
	s.sendTaken(h.peer, h.id, bits)
	s.recycleHeld(h)
	o.received(n, err)
}

// sendTaken reports the end of an offer or of a synchronous message to its sender; bits are
// bitFailed, or 0. A lost peer is skipped.
func (s *Stack) sendTaken(p *peer, id uint32, bits uint8) {
	if p.ep.Send(uct.Header{ID: idTaken, Bits: bits, Arg: id}, nil) == uct.ErrAgain { //nolint:errorlint // this very value
		s.control(p, controlTaken, id, bits)
	}
}

var _ uct.Completion = (*Op)(nil)
