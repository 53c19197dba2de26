package messages

import (
	"score/pm"
	"score/pm/ofi"
	"score/pm/tag"
	"score/pm/uct"
)

// pmEnd is an end of the channel itself. Its receives wait.
type pmEnd struct{ ch *pm.Channel }

func (*pmEnd) alloc(size int) ([]byte, error) { return make([]byte, size), nil }
func (e *pmEnd) send(data []byte) error       { return send(e.ch, 1-e.ch.Rank(), data) }
func (e *pmEnd) receive(data []byte) error    { return take(e.ch, data) }
func (*pmEnd) sent() error                    { return nil }
func (*pmEnd) received() error                { return nil }
func (*pmEnd) close() error                   { return nil } // the rank's frame does it

// uctEnd sends active messages. Its receives wait.
type uctEnd struct {
	worker *uct.Worker
	ep     *uct.EP
	to     []byte // of the receive
	came   int    // messages that no receive has reported
	err    error
}

func newUCTEnd(ch *pm.Channel) (*uctEnd, error) {
	e := &uctEnd{worker: uct.NewWorker()}
	iface := e.worker.Open(ch, uct.NewMD(0))
	iface.Handle(uct.FirstID, e.onMessage)
	iface.HandleGone(func(_ *uct.EP, err error) { e.err = err })
	ep, err := iface.EP(1 - ch.Rank())
	e.ep = ep
	return e, err
}

func (e *uctEnd) onMessage(p *uct.Packet) {
	if _, err := p.CopyTo(e.to, 0); err != nil {
		e.err = err
	}
	e.came++
}

func (*uctEnd) alloc(size int) ([]byte, error) { return make([]byte, size), nil }

func (e *uctEnd) send(data []byte) error {
	for {
		err := e.ep.Send(uct.Header{ID: uct.FirstID}, data)
		if err != uct.ErrAgain { //nolint:errorlint // Send returns this very value
			return err
		}
		e.worker.Progress()
	}
}

func (e *uctEnd) receive(data []byte) error {
	e.to = data
	for e.came == 0 && e.err == nil {
		e.worker.Progress()
	}
	if e.came == 0 {
		return e.err
	}
	e.came--
	return nil
}

func (*uctEnd) sent() error     { return nil }
func (*uctEnd) received() error { return nil }
func (e *uctEnd) close() error  { return e.worker.Close() }

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// tagEnd sends tagged messages.
type tagEnd struct {
	worker  *uct.Worker
	md      *uct.MD
	ep      *tag.Endpoint
	peer    tag.Peer
	windows bool
	ops     [windowLength]tag.Op
	begun   int // operations since the last wait
}

func newTagEnd(ch *pm.Channel, windows bool) (*tagEnd, error) {
	e := &tagEnd{worker: uct.NewWorker(), md: uct.NewMD(0), peer: tag.Peer{Rank: uint32(1 - ch.Rank())}, windows: windows}
	ep, err := tag.NewStack(e.worker.Open(ch, e.md), e.md, tag.Settings{}).Open(0)
	e.ep = ep
	return e, err
}

func (e *tagEnd) alloc(size int) ([]byte, error) {
	if !e.windows {
		return make([]byte, size), nil
	}
	r, err := e.md.Alloc(size, uct.RemoteAll)
	if err != nil {
		return nil, err
	}
	return r.Bytes(), nil
}

func (e *tagEnd) next() *tag.Op {
	o := &e.ops[e.begun]
	e.begun++
	return o
}

func (e *tagEnd) send(data []byte) error { return e.ep.Send(e.next(), e.peer, 1, data) }

func (e *tagEnd) receive(data []byte) error {
	return e.ep.Receive(e.next(), tag.Criteria{Source: e.peer, Tag: 1}, data)
}

func (e *tagEnd) sent() error { return e.wait() }

func (e *tagEnd) received() error { return e.wait() }

func (e *tagEnd) wait() error {
	for i := range e.begun {
		for o := &e.ops[i]; !o.Done(); {
			e.worker.Progress()
		}
		if err := e.ops[i].Err; err != nil {
			return err
		}
	}
	e.begun = 0
	return nil
}

func (e *tagEnd) close() error { return firstError(e.worker.Close(), e.md.Close()) }

// ofiEnd sends tagged messages and reads completions.
type ofiEnd struct {
	d       *ofi.Domain
	ep      *ofi.Endpoint
	cq      *ofi.CQ
	peer    ofi.Address
	entries [windowLength]ofi.Entry
	begun   int
}

func newOFIEnd(ch *pm.Channel) (*ofiEnd, error) {
	e := &ofiEnd{d: ofi.Open(ch)}
	e.cq = e.d.CQ(2 * windowLength)
	av := e.d.AV()
	ep, err := e.d.Endpoint(ofi.EndpointOptions{AV: av, Transmit: e.cq, Receive: e.cq})
	if err != nil {
		return nil, err
	}
	e.ep = ep
	name := ep.Name() // the channel carries it, before the domain makes progress
	if err := send(ch, 1-ch.Rank(), name[:]); err != nil {
		return nil, err
	}
	if err := take(ch, name[:]); err != nil {
		return nil, err
	}
	e.peer, err = av.Insert(name[:])
	return e, err
}

func (*ofiEnd) alloc(size int) ([]byte, error) { return make([]byte, size), nil }

func (e *ofiEnd) send(data []byte) error {
	e.begun++
	return e.ep.Send(ofi.Send{Buffer: data, To: e.peer, Tag: 1, Flags: ofi.Tagged})
}

func (e *ofiEnd) receive(data []byte) error {
	e.begun++
	return e.ep.Receive(ofi.Receive{Buffer: data, From: e.peer, Tag: 1, Flags: ofi.Tagged})
}

func (e *ofiEnd) sent() error { return e.wait() }

func (e *ofiEnd) received() error { return e.wait() }

func (e *ofiEnd) wait() error {
	for e.begun > 0 {
		n := e.cq.Read(e.entries[:])
		for i := range n {
			if e.entries[i].Err != 0 {
				return errOutput
			}
		}
		if e.begun -= n; n == 0 {
			e.d.Progress()
		}
	}
	return nil
}

func (e *ofiEnd) close() error { return e.d.Close() }
