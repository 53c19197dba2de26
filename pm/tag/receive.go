package tag

import "score/pm/uct"

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
	o.end(err)
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
