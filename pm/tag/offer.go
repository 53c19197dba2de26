package tag

import "score/pm/uct"

// offer sends the envelope alone.
func (o *Op) offer(v envelope, want bool) error {
	e, p, s := o.ep, o.to, o.ep.stack
	n, bits := offerHead, v.bits()
	if v.hasData() {
		n += dataHead
	}
	if want {
		bits |= bitWant
	}
	o.id = s.sends.Add(o)
	buf, err := p.ep.Reserve(uct.Header{ID: idOffer, Ports: uct.Ports{To: o.peer.Port, From: e.port}, Bits: bits, Arg: o.id}, n)
	if err == nil {
		o.exposed = s.md.Expose(o.buf)
		putOffer(buf, v, o.exposed)
		if err = p.ep.Commit(); err != nil {
			s.md.Conceal(o.exposed)
		}
	}
	if err != nil {
		s.sends.Remove(o.id)
		if err != uct.ErrAgain { //nolint:errorlint // this very value
			o.finish(err)
		}
		return err
	}
	s.counts.Offered++
	if want {
		s.counts.Narrow++
	}
	o.state = offered
	return nil
}
