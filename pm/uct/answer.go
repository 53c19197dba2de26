package uct

import "time"

// onData takes a piece of an answer.
func onData(p *Packet) {
	e := p.EP
	var w [1]uint64
	if !p.words(w[:]) {
		return
	}
	o := e.iface.calls.Get(p.Arg)
	size := p.Len() - dataHead
	if o != nil && o.ep == e && o.pull != nil {
		e.onPulled(p, o, w[0], size)
		return
	}
	if o == nil || o.ep != e || o.transfer == byCopy || w[0] > uint64(len(o.data)) || size > len(o.data)-int(w[0]) {
		e.Violated()
		return
	}
	if !o.completed {
		if _, err := p.CopyTo(o.data[w[0]:], dataHead); err != nil {
			return // the peer died
		}
	}
	o.received += size
	if o.source != 0 && len(o.data) >= minTimed {
		e.timePull(o)
	}
	if o.received >= len(o.data) {
		e.finishCall(o, nil)
	}
}

// timePull notes how long a pull takes from its first piece on: before it, others may be under way.
func (e *EP) timePull(o *op) {
	switch {
	case o.timedFrom == 0:
		o.timedFrom, o.timedSince = o.received, time.Now()
	case o.received == len(o.data) && !o.completed:
		observe(&e.pace.streamed, o.received-o.timedFrom, time.Since(o.timedSince))
	}
}

// onDone ends a call without data.
func onDone(p *Packet) {
	o := p.EP.iface.calls.Get(p.Arg)
	err := status(p.Bits).err()
	if o == nil || o.ep != p.EP || o.pull != nil || err == ErrPeer { //nolint:errorlint // err returns this very value
		p.EP.Violated()
		return
	}
	if o.transfer == byCopy && err == nil {
		o.ep.iface.counts.Copied += uint64(len(o.data))
	}
	p.EP.finishCall(o, err)
}

func (e *EP) finishCall(o *op, err error) {
	e.finish(o, err)
	if e.out.first != nil {
		e.activate() // a call may have waited for this one
	}
}
