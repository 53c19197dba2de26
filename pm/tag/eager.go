package tag

import "score/pm/uct"

// sendEager sends a message with its bytes. The error is ErrAgain, errNarrow, errOffer, or why the
// peer is lost.
func (e *Endpoint) sendEager(p *peer, port uint8, v envelope, data []byte) error {
	if len(data) > p.eager {
		return errOffer
	}
	units := unitsOf(len(data))
	if !p.credit.take(units) {
		return errNarrow
	}
	limit := p.window.limit()
	h := uct.Header{ID: idEager, Ports: uct.Ports{To: port, From: e.port}, Bits: v.bits(), Arg: limit}
	var err error
	switch {
	case !v.hasData() && !v.sync():
		err = p.ep.SendWord(h, v.tag, data)
	case !v.sync():
		err = p.ep.SendWords(h, v.tag, v.data, data)
	default:
		err = p.sendWithHead(h, v, data)
	}
	if err != nil {
		p.credit.used -= units
		return err
	}
	p.window.announced = limit
	e.stack.counts.Eager++
	return nil
}

// sendWithHead sends an eager message whose receiver says when a receive took it.
func (p *peer) sendWithHead(h uct.Header, v envelope, data []byte) error {
	buf, err := p.ep.Reserve(h, v.headLength()+len(data))
	if err != nil {
		return err
	}
	putEager(buf, v, data)
	return p.ep.Commit()
}
