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

// SendWith is Send with options. The error is ErrBusy, ErrClosed, ErrPort, uct.ErrTooLong,
// pm.ErrRank, or why the peer is lost; then the operation was not begun.
func (e *Endpoint) SendWith(o *Op, to Peer, tag uint64, data []byte, opts SendOptions) error {
	if err := e.ready(o); err != nil {
		return err
	}
	p := e.stack.known(int(to.Rank))
	if p == nil || to.Port >= Ports {
		var err error
		if p, err = e.target(to); err != nil {
			return err
		}
	}
	if err := p.ep.Err(); err != nil {
		return err
	}
	if len(data) > uct.MaxRMA {
		return uct.ErrTooLong
	}
	v := newEnvelope(tag, len(data), opts)
	if opts.Sync {
		o.Result = v.sent()
		o.ep, o.peer, o.to, o.space, o.buf, o.sync = e, to, p, opts.Space, data, true
		if err := o.sendSync(v); err != nil {
			o.goOn(v, err)
		}
		return nil
	}
	err := e.sendEager(p, to.Port, v, data)
	o.Result = v.sent() // now, since the peer is already at work
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
	p := e.stack.known(int(to.Rank))
	if p == nil || to.Port >= Ports {
		var err error
		if p, err = e.target(to); err != nil {
			return err
		}
	}
	err := e.sendEager(p, to.Port, newEnvelope(tag, len(data), opts), data)
	if err == errNarrow || err == errOffer { //nolint:errorlint // these very values
		return uct.ErrAgain
	}
	return err
}

// target returns the state of a peer to which a message goes.
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
	p := e.stack.known(int(to.Rank))
	if p == nil || to.Port >= Ports {
		var err error
		if p, err = e.target(to); err != nil {
			return err
		}
	}
	v := newEnvelope(tag, len(data), opts)
	err := e.sendEager(p, to.Port, v, data)
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
