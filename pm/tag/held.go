package tag

import (
	"score/pm/tag/match"
	"score/pm/uct"
)

// Held is a message that no receive has taken yet.
type Held struct {
	msg match.Message // first, so that it leads to the Held

	From     Peer
	envelope envelope
	peer     *peer
	bytes    []byte // of an eager message
	units    uint32 // of the peer's window; 0: an offer, or beyond the window
	offer    bool
	exposed  uct.Exposed
	id       uint32 // of the send, if its sender is notified of the end

	next *Held // spare
}

// Tag returns the message's tag.
func (h *Held) Tag() uint64 { return h.envelope.tag }

// Length returns the message's length in bytes.
func (h *Held) Length() int { return h.envelope.length }

// Data returns the immediate data, if there is any.
func (h *Held) Data() (data uint64, ok bool) { return h.envelope.data, h.envelope.hasData() }

// hold keeps a copy of an eager message.
func (s *Stack) hold(e *Endpoint, p *uct.Packet, v envelope, head int, from Peer, units uint32) {
	h := s.newHeld()
	if cap(h.bytes) < v.length {
		h.bytes = make([]byte, v.length)
	}
	h.bytes = h.bytes[:v.length]
	h.envelope, h.From, h.peer, h.units, h.id = v, from, s.peers[p.Source], units, v.number()
	h.msg.Source, h.msg.Tag = from.source(), v.tag
	if _, err := p.CopyTo(h.bytes, head); err != nil {
		s.settle(h.peer, units, v.length)
		s.recycleHeld(h)
		return // the sender died in the middle of it
	}
	s.counts.HeldBytes += v.length
	s.enqueue(e, h)
}

// enqueue queues a message until a receive takes it. A message for a closed endpoint is dropped:
// nobody will take it, and its sender needs the room for others.
func (s *Stack) enqueue(e *Endpoint, h *Held) {
	if e.closed {
		s.drop(h)
		return
	}
	e.match[h.envelope.space()].Hold(&h.msg)
}

// drop forgets a message. A sender that waits for its end is answered as if it was taken.
func (s *Stack) drop(h *Held) {
	if h.offer || h.envelope.sync() {
		s.sendTaken(h.peer, h.id, 0)
	}
	if h.offer {
		h.peer.offers--
	} else {
		s.counts.HeldBytes -= len(h.bytes)
		s.settle(h.peer, h.units, h.envelope.length)
	}
	s.recycleHeld(h)
}

const (
	// spareBytes is the longest buffer that is kept for reuse, with a Held or a copy of a message
	// that was sent: longer ones are rare where there is one all the time.
	spareBytes = 4 << 10
	// maxOffers bounds the waiting offers of one peer and its messages beyond the window, some 500
	// bytes each: far more than a program has sends under way to one rank. A peer with more is
	// dropped.
	maxOffers = 1 << 20
)

func (s *Stack) newHeld() *Held {
	h := s.spareHeld
	if h == nil {
		return &Held{}
	}
	s.spareHeld = h.next
	h.next = nil
	return h
}

func (s *Stack) recycleHeld(h *Held) {
	bytes := h.bytes[:0]
	if cap(bytes) > spareBytes {
		bytes = nil
	}
	*h = Held{next: s.spareHeld, bytes: bytes}
	s.spareHeld = h
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
