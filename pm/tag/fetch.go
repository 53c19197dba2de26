package tag

import "score/pm/uct"

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
