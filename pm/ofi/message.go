package ofi

import (
	"errors"
	"score/pm/tag"
)

// Send describes a message to be sent.
type Send struct {
	Buffer  []byte
	To      Address
	Tag     uint64 // with Tagged
	Data    uint64 // with RemoteData
	Context uintptr
	Flags   Flags // Tagged, RemoteData, Inject, Completion, DeliveryComplete, MatchComplete, Fence
}

// Send sends a message. With Inject the buffer is the caller's again at once; else it must stay as
// it is until the completion.
func (e *Endpoint) Send(s Send) error {
	to, err := e.o.AV.peer(s.To)
	if err != nil {
		return err
	}
	if e.fenced(s.Flags) {
		return ErrAgain
	}
	o := tag.SendOptions{Data: s.Data, HasData: s.Flags&RemoteData != 0, Sync: s.Flags&(DeliveryComplete|MatchComplete) != 0}
	kind := Tagged | Sent
	if s.Flags&Tagged == 0 {
		o.Space, kind = tag.Untagged, Message|Sent
		s.Tag = 0
	}
	if s.Flags&Inject != 0 {
		if err := e.inject(to, s.Tag, s.Buffer, o); err != nil {
			return err
		}
		e.sent(s.Context, len(s.Buffer), s.Flags, kind)
		return nil
	}
	switch err := e.tag.TrySend(to, s.Tag, s.Buffer, o); {
	case err == nil:
		e.sent(s.Context, len(s.Buffer), s.Flags, kind)
		return nil
	case err != ErrAgain: //nolint:errorlint // TrySend returns this very value
		return err
	}
	t := e.newTransfer(s.Context, kind, e.o.Transmit, e.o.SelectiveTransmit, s.Flags, e.o.Sends)
	if err := e.tag.SendWith(&t.Op, to, s.Tag, s.Buffer, o); err != nil {
		t.release()
		return err
	}
	return nil
}

// inject sends a copy.
func (e *Endpoint) inject(to tag.Peer, t uint64, data []byte, o tag.SendOptions) error {
	if len(data) > InjectSize {
		return ErrArgument
	}
	o.Sync = false
	return e.tag.SendCopy(to, t, data, o)
}

// sent completes a message that went at once.
func (e *Endpoint) sent(context uintptr, length int, asked, kind Flags) {
	if wanted(asked, e.o.SelectiveTransmit) {
		e.o.Transmit.addSent(context, kind, uint64(length), 0)
	}
	e.o.Sends.count(nil)
}

// Receive describes a receive. With one word more it would not be passed in registers.
type Receive struct {
	Buffer      []byte
	From        Address // AnyAddress: of all peers
	Tag, Ignore uint64  // with Tagged
	Context     uintptr
	Flags       Flags // Tagged, MultiReceive, Completion, Peek, Claim, Discard
}

// Answer describes an empty message that tells a sender that its message is received, which it asks
// for by bits of the tag. Zero: nobody asks.
type Answer struct {
	Asks  uint64 // the bits of the message's tag
	Tells uint64 // those that the answer's tag has instead
}

// to returns the tag of the answer to a message, if its sender asks for one.
func (a Answer) to(tag uint64) (answer uint64, due bool) {
	return tag&^a.Asks | a.Tells, tag&a.Asks != 0
}

// Receive begins a receive. With Peek it checks for a message, and completes at once: with the
// message's length and tag, or with ErrNoMessage. Peek and Claim together keep the message for a
// receive with Claim and the same context.
func (e *Endpoint) Receive(r Receive) error {
	if r.Flags&Peek != 0 {
		_, err := e.Peek(r, true)
		return err
	}
	if r.Flags&Claim != 0 {
		return e.ReceiveClaimed(r, Answer{})
	}
	from, err := e.o.AV.source(r.From)
	if err != nil {
		return err
	}
	c, kind := criteria(from, r.Tag, r.Ignore, r.Flags)
	t := e.newTransfer(r.Context, kind, e.o.Receive, e.o.SelectiveReceive, r.Flags, e.o.Receives)
	if r.Flags&MultiReceive != 0 {
		t.flags |= MultiReceive
		return e.tag.ReceiveMany(&t.Op, c, r.Buffer, e.o.MinMultiReceive)
	}
	return e.tag.Receive(&t.Op, c, r.Buffer)
}

// criteria returns which messages match, and the kind of the completion.
func criteria(from tag.Peer, t, ignore uint64, asked Flags) (tag.Criteria, Flags) {
	if asked&Tagged == 0 {
		return tag.Criteria{Space: tag.Untagged, Source: from, Ignore: ^uint64(0)}, Message | Received
	}
	return tag.Criteria{Source: from, Tag: t, Ignore: ignore}, Tagged | Received
}

// Peeked is the result of a peek.
type Peeked struct {
	Found bool // a message that matches
	Busy  bool // something else came
}

// Peek is Receive with Peek. If no message is there it polls the network for one, and without
// progress it does not.
func (e *Endpoint) Peek(r Receive, progress bool) (p Peeked, err error) {
	from, err := e.o.AV.source(r.From)
	if err != nil {
		return p, err
	}
	c, kind := criteria(from, r.Tag, r.Ignore, r.Flags)
	h := e.tag.Probe(c)
	if h == nil && progress {
		p.Busy = e.d.Progress() > 0
		h = e.tag.Probe(c)
	}
	p.Found = h != nil
	e.completePeek(h, c, r, kind)
	return p, nil
}

func (e *Endpoint) completePeek(h *tag.Held, c tag.Criteria, r Receive, kind Flags) {
	if h == nil {
		e.o.Receive.addNothing(r.Context, kind, r.Tag)
		return
	}
	entry := Entry{Context: r.Context, Flags: kind, Length: uint64(h.Length()), Tag: h.Tag(), Source: e.o.AV.address(h.From)}
	if data, ok := h.Data(); ok {
		entry.Data, entry.Flags = data, entry.Flags|RemoteData
	}
	if r.Flags&(Claim|Discard) != 0 {
		h = e.tag.Claim(c)
	}
	switch {
	case r.Flags&Discard != 0:
		e.tag.Discard(h)
	case r.Flags&Claim != 0:
		e.claimed[r.Context] = h
	}
	e.o.Receive.add(entry)
}

// ReceiveClaimed is Receive with Claim, and answers the message's sender.
func (e *Endpoint) ReceiveClaimed(r Receive, a Answer) error {
	from, err := e.o.AV.source(r.From)
	if err != nil {
		return err
	}
	_, kind := criteria(from, r.Tag, r.Ignore, r.Flags)
	h := e.claimed[r.Context]
	if h == nil {
		return ErrArgument
	}
	if err := e.answer(h, a); err != nil {
		return err
	}
	delete(e.claimed, r.Context)
	if r.Flags&Discard != 0 {
		e.tag.Discard(h)
		e.o.Receive.add(Entry{Context: r.Context, Flags: kind})
		return nil
	}
	t := e.newTransfer(r.Context, kind, e.o.Receive, e.o.SelectiveReceive, r.Flags, e.o.Receives)
	return e.tag.ReceiveHeld(&t.Op, h, r.Buffer)
}

// answer tells the sender of a message that it is received. The error is ErrMemory, and the caller
// tries again; one that is gone needs no answer.
func (e *Endpoint) answer(h *tag.Held, a Answer) error {
	answer, due := a.to(h.Tag())
	if !due {
		return nil
	}
	if err := e.tag.SendCopy(h.From, answer, nil, tag.SendOptions{}); errors.Is(err, tag.ErrMemory) {
		return err
	}
	return nil
}

// Cancel ends the oldest receive with the context that no message has matched. It completes with
// tag.ErrCanceled; others are left alone.
func (e *Endpoint) Cancel(context uintptr) {
	for o := range e.tag.Posted() {
		if o.Context == context {
			e.tag.Cancel(o)
			return
		}
	}
}
