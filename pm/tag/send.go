package tag

import "score/pm/uct"

// SendOptions of a send.
type SendOptions struct {
	Space   Space
	Data    uint64 // immediate data
	HasData bool
	Sync    bool // done when the receiver has the bytes, instead of when data may be changed
}

// Send sends a tagged message. It never fails for want of resources: what cannot go now goes later,
// in order. data must stay as it is until the operation is done.
func (e *Endpoint) Send(o *Op, to Peer, tag uint64, data []byte) error {
	return e.SendWith(o, to, tag, data, SendOptions{})
}

// SendWith is Send with options. The error is ErrBusy, ErrClosed, ErrPort, pm.ErrRank, or why the
// peer is lost; then the operation was not begun.
func (e *Endpoint) SendWith(o *Op, to Peer, tag uint64, data []byte, opts SendOptions) error {
	if err := e.ready(o); err != nil {
		return err
	}
	p, err := e.target(to)
	if err != nil {
		return err
	}
	if err := p.ep.Err(); err != nil {
		return err
	}
	o.ep, o.peer, o.to, o.space, o.buf, o.sync = e, to, p, opts.Space, data, opts.Sync
	o.Result = Result{Tag: tag, Length: len(data), Data: opts.Data, HasData: opts.HasData}
	o.state = sending
	if o.send() == uct.ErrAgain { //nolint:errorlint // this very value
		p.ep.Pend(o)
	}
	return nil
}

func (e *Endpoint) target(to Peer) (*peer, error) {
	if to.Port >= Ports {
		return nil, ErrPort
	}
	return e.stack.peer(int(to.Rank))
}

// SendCopy sends a message of which the stack keeps a copy, if it must: data is the caller's again
// when it returns, and nobody is told of the end. The error is ErrMemory if too many copies wait.
func (e *Endpoint) SendCopy(to Peer, tag uint64, data []byte, opts SendOptions) error {
	if !e.open {
		return ErrClosed
	}
	s := e.stack
	p, err := e.target(to)
	if err != nil {
		return err
	}
	v := envelope{space: opts.Space, tag: tag, length: len(data), data: opts.Data, hasData: opts.HasData}
	if len(data) <= s.eagerMost(p) {
		if err := e.sendEager(p, to.Port, v, data); err != uct.ErrAgain && err != errNarrow { //nolint:errorlint // these very values
			return err
		}
	}
	if err := p.ep.Err(); err != nil {
		return err
	}
	return e.sendLater(p, to, tag, data, opts)
}

// sendLater keeps a copy of a message until it can be sent.
func (e *Endpoint) sendLater(p *peer, to Peer, tag uint64, data []byte, opts SendOptions) error {
	s := e.stack
	if s.copies+len(data) > s.settings.SendBytes && s.copies > 0 {
		return ErrMemory
	}
	o := s.newOp()
	o.buf = append(o.Bytes[:0], data...)
	o.Result = Result{Tag: tag, Length: len(data), Data: opts.Data, HasData: opts.HasData, Bytes: o.buf}
	s.copies += cap(o.buf)
	o.ep, o.peer, o.to, o.space, o.copied = e, to, p, opts.Space, true
	o.state = sending
	if o.send() == uct.ErrAgain { //nolint:errorlint // this very value
		p.ep.Pend(o)
	}
	return nil
}

// Retry sends a message, or fetches one, that had to wait for resources.
func (o *Op) Retry() error {
	if o.state == fetching {
		return o.fetch()
	}
	return o.send()
}

// errNarrow means that the peer's window has no room for the message.
var errNarrow = uctError("tag: the window is too narrow")

type uctError string

func (e uctError) Error() string { return string(e) }

// send sends the message or its envelope. ErrAgain leaves the operation as it was; any other error
// has ended it.
func (o *Op) send() error {
	e, p := o.ep, o.to
	v := envelope{space: o.space, tag: o.Tag, length: len(o.buf), data: o.Data, hasData: o.HasData}
	want := false
	if !o.sync && len(o.buf) <= e.stack.eagerMost(p) {
		err := e.sendEager(p, o.peer.Port, v, o.buf)
		if err == uct.ErrAgain { //nolint:errorlint // this very value
			return err
		}
		if want = err == errNarrow; !want { //nolint:errorlint // this very value
			o.finish(err)
			return err
		}
	}
	return o.offer(v, want)
}

func (s *Stack) eagerMost(p *peer) int {
	if p.ep.Local() {
		return s.settings.EagerLocal
	}
	return s.settings.EagerRemote
}

func (e *Endpoint) sendEager(p *peer, port uint8, v envelope, data []byte) error {
	units := unitsOf(len(data))
	if !p.credit.take(units) {
		return errNarrow
	}
	head := v.headLength()
	limit := p.window.limit()
	buf, err := p.ep.Reserve(uct.Header{ID: idEager, To: port, From: e.port, Bits: v.bits(), Arg: limit}, head+len(data))
	if err == nil {
		putEager(buf, v, data)
		err = p.ep.Commit()
	}
	if err != nil {
		p.credit.used -= units
		return err
	}
	p.window.told = limit
	e.stack.counts.Eager++
	return nil
}

// offer sends the envelope alone.
func (o *Op) offer(v envelope, want bool) error {
	e, p, s := o.ep, o.to, o.ep.stack
	n, bits := offerHead, v.bits()
	if v.hasData {
		n += dataHead
	}
	if want {
		bits |= bitWant
	}
	o.id = s.sends.add(o)
	buf, err := p.ep.Reserve(uct.Header{ID: idOffer, To: o.peer.Port, From: e.port, Bits: bits, Arg: o.id}, n)
	if err == nil {
		o.exposed = s.md.Expose(o.buf)
		putOffer(buf, v, o.exposed)
		if err = p.ep.Commit(); err != nil {
			s.md.Conceal(o.exposed)
		}
	}
	if err != nil {
		s.sends.remove(o.id)
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

// onTaken ends a send whose bytes the receiver has.
func (s *Stack) onTaken(p *uct.Packet) {
	o := s.sends.get(p.Arg)
	if o == nil || int(o.peer.Rank) != p.Source {
		return // of a send that was ended when the peer seemed lost, or nonsense
	}
	s.endOffer(o, nil)
}

func (s *Stack) endOffer(o *Op, err error) {
	s.sends.remove(o.id)
	s.md.Conceal(o.exposed)
	o.finish(err)
}
