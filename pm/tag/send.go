package tag

import (
	"errors"
	"score/pm/uct"
)

// SendOptions of a send.
type SendOptions struct {
	Space   Space
	Data    uint64 // immediate data
	HasData bool
	Sync    bool // done when a receive has the bytes, instead of when data may be changed
}

// Send sends a tagged message. It never fails for want of resources: what cannot go now goes later,
// in order. data must stay as it is until the operation is done.
func (e *Endpoint) Send(o *Op, to Peer, tag uint64, data []byte) error {
	return e.SendWith(o, to, tag, data, SendOptions{})
}

// SendWith is Send with options. The error is ErrBusy, ErrClosed, ErrPort, uct.ErrTooLong, pm.ErrRank,
// or why the peer is lost; then the operation was not begun.
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
	if len(data) > uct.MaxRMA {
		return uct.ErrTooLong
	}
	o.Result = Result{Tag: tag, Length: len(data), Data: opts.Data, HasData: opts.HasData}
	v := newEnvelope(tag, len(data), opts)
	if opts.Sync {
		o.ep, o.peer, o.to, o.space, o.buf, o.sync = e, to, p, opts.Space, data, true
		if err := o.sendSync(v); err != nil {
			o.goOn(v, err)
		}
		return nil
	}
	err = e.sendEager(p, to.Port, v, data)
	if err == nil {
		if o.OnDone != nil {
			o.OnDone(o)
		}
		return nil
	}
	o.ep, o.peer, o.to, o.space, o.buf, o.sync = e, to, p, opts.Space, data, false
	o.goOn(v, err)
	return nil
}

// TrySend sends a message at once if it is eager and there is room for it. Otherwise the error is
// ErrAgain, and nothing was sent. Further errors are those of SendWith.
func (e *Endpoint) TrySend(to Peer, tag uint64, data []byte, opts SendOptions) error {
	if !e.open {
		return ErrClosed
	}
	if opts.Sync {
		return uct.ErrAgain // an operation is to wait for its receiver
	}
	p, err := e.target(to)
	if err != nil {
		return err
	}
	err = e.sendEager(p, to.Port, newEnvelope(tag, len(data), opts), data)
	if err == errNarrow || err == errOffer { //nolint:errorlint // these very values
		return uct.ErrAgain
	}
	return err
}

func (e *Endpoint) target(to Peer) (*peer, error) {
	if to.Port >= Ports {
		return nil, ErrPort
	}
	return e.stack.peer(int(to.Rank))
}

// SendCopy sends a message, and keeps a copy if it cannot go at once: data is the caller's again
// when it returns, and the end is not reported. The error is ErrMemory if too many copies wait.
func (e *Endpoint) SendCopy(to Peer, tag uint64, data []byte, opts SendOptions) error {
	if !e.open {
		return ErrClosed
	}
	p, err := e.target(to)
	if err != nil {
		return err
	}
	v := newEnvelope(tag, len(data), opts)
	err = e.sendEager(p, to.Port, v, data)
	if err == nil || !begins(err) {
		return err
	}
	if err := p.ep.Err(); err != nil {
		return err
	}
	return e.sendLater(p, to, v, data, opts, err)
}

// sendLater keeps a copy of a message until it can be sent.
func (e *Endpoint) sendLater(p *peer, to Peer, v envelope, data []byte, opts SendOptions, why error) error {
	s := e.stack
	if s.copies+len(data)+copyBytes > s.settings.SendBytes && s.copies > 0 {
		return ErrMemory
	}
	o := s.newOp()
	o.buf = append(o.Bytes[:0], data...)
	o.Result = Result{Tag: v.tag, Length: len(data), Data: opts.Data, HasData: opts.HasData, Bytes: o.buf}
	s.copies += cap(o.buf) + copyBytes
	o.ep, o.peer, o.to, o.space, o.copied = e, to, p, opts.Space, true
	o.goOn(v, why)
	return nil
}

// Retry sends a message, or fetches one, that had to wait for resources.
func (o *Op) Retry() error {
	if o.state == fetching {
		return o.fetch()
	}
	return o.send()
}

// Why a message is not sent eagerly.
var (
	errNarrow = errors.New("tag: the window is too narrow") // of the peer
	errOffer  = errors.New("tag: the message is offered")   // it is too long
)

// begins reports whether a message that was not sent eagerly, for the reason why, is sent in
// another way.
func begins(why error) bool {
	return errors.Is(why, uct.ErrAgain) || errors.Is(why, errNarrow) || errors.Is(why, errOffer)
}

// send sends the message or its envelope. ErrAgain leaves the operation as it was; any other error
// has ended it.
func (o *Op) send() error {
	v := newEnvelope(o.Tag, len(o.buf), SendOptions{Space: o.space, Data: o.Data, HasData: o.HasData})
	if !o.sync {
		return o.sendOther(v, o.ep.sendEager(o.to, o.peer.Port, v, o.buf))
	}
	if err := o.sendSync(v); err != nil {
		return o.sendOther(v, err)
	}
	return nil
}

// sendSync sends an eager message whose receiver says when a receive took it.
func (o *Op) sendSync(v envelope) error {
	s := o.ep.stack
	o.id = s.sends.Add(o)
	if err := o.ep.sendEager(o.to, o.peer.Port, v.numbered(o.id), o.buf); err != nil {
		s.sends.Remove(o.id)
		return err
	}
	o.state = untaken
	s.untaken++
	return nil
}

// goOn sends a message that could not be sent eagerly, for the reason why, now or later.
func (o *Op) goOn(v envelope, why error) {
	o.state = sending
	if o.sendOther(v, why) == uct.ErrAgain { //nolint:errorlint // this very value
		o.to.ep.Pend(o)
	}
}

// sendOther is send after an attempt to send eagerly, which ended with the error.
func (o *Op) sendOther(v envelope, err error) error {
	switch {
	case errors.Is(err, uct.ErrAgain):
		return err
	case errors.Is(err, errNarrow) && o.to.goesBeyond(len(o.buf)):
		return o.sendBeyond(v)
	case begins(err):
		return o.offer(v, errors.Is(err, errNarrow))
	default:
		o.finish(err)
		return err
	}
}

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
	h := uct.Header{ID: idEager, To: port, From: e.port, Bits: v.bits(), Arg: limit}
	var err error
	if v.hasData() || v.sync() {
		err = p.sendWithHead(h, v, data)
	} else {
		err = p.ep.SendWord(h, v.tag, data)
	}
	if err != nil {
		p.credit.used -= units
		return err
	}
	p.window.announced = limit
	e.stack.counts.Eager++
	return nil
}

// sendWithHead sends an eager message that says more of itself than its tag.
func (p *peer) sendWithHead(h uct.Header, v envelope, data []byte) error {
	buf, err := p.ep.Reserve(h, v.headLength()+len(data))
	if err != nil {
		return err
	}
	putEager(buf, v, data)
	return p.ep.Commit()
}

// goesBeyond reports whether a message for which the window is too narrow goes with its bytes.
func (p *peer) goesBeyond(length int) bool {
	return length <= shortBeyond || length <= maxBeyond && p.beyondSent+length <= maxBeyondBytes
}

// beyondCost returns how much of maxBeyondBytes a message beyond the window takes.
func beyondCost(length int) int {
	if length <= shortBeyond {
		return 0
	}
	return length
}

// sendBeyond sends a short message beyond the window, with its bytes. Like an offer it waits for its
// receiver's answer, but the receiver has nothing to pull.
func (o *Op) sendBeyond(v envelope) error {
	p, s := o.to, o.ep.stack
	o.id = s.sends.Add(o)
	v = v.numbered(o.id)
	limit := p.window.limit()
	h := uct.Header{ID: idEager, To: o.peer.Port, From: o.ep.port, Bits: v.bits() | bitWant, Arg: limit}
	if err := p.sendWithHead(h, v, o.buf); err != nil {
		s.sends.Remove(o.id)
		if err != uct.ErrAgain { //nolint:errorlint // this very value
			o.finish(err)
		}
		return err
	}
	p.window.announced = limit
	s.counts.Beyond++
	o.beyond = beyondCost(len(o.buf))
	p.beyondSent += o.beyond
	o.state = untaken
	s.untaken++
	return nil
}

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
	buf, err := p.ep.Reserve(uct.Header{ID: idOffer, To: o.peer.Port, From: e.port, Bits: bits, Arg: o.id}, n)
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
