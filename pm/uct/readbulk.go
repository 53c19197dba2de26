package uct

import (
	"errors"
	"score/pm"
)

// askBulk declares frames lost that did not come, probes owners, and asks for what pulls want now.
func (i *Iface) askBulk() (n int) {
	b := &i.bulk
	now := bulkNow()
	if now >= b.reader.Deadline() && !i.framesWait() {
		b.reader.Tick(now)
	}
	if b.refused = !i.probeBulk(); b.refused {
		return 0
	}
	for {
		p, at, size, ok := b.reader.Next()
		if !ok {
			return n
		}
		o := i.calls.Get(p.ID)
		if o.ep.failed != nil {
			b.reader.Stop(p)
			continue
		}
		if !o.ep.ask(o, at, size) {
			b.refused = true
			return n
		}
		b.reader.Asked(now)
		n++
	}
}

// probeBulk asks owners what they have sent. It is false if there is no room for the question.
func (i *Iface) probeBulk() bool {
	r := i.bulk.reader
	for p, at, n, ok := r.Probe(); ok; p, at, n, ok = r.Probe() {
		o := i.calls.Get(p.ID)
		if o.ep.failed == nil && !o.ep.sendWords(Header{ID: idProbe, Arg: o.id}, at, n, uint64(o.token)) {
			return false
		}
		r.Probed()
	}
	return true
}

// framesWait reports whether frames wait to be taken.
func (i *Iface) framesWait() bool {
	if i.bulk.link == nil {
		return false
	}
	_, _, ok := i.bulk.link.Next()
	return ok
}

// ask asks for a piece of a pull.
func (e *EP) ask(o *op, at, n uint64) bool {
	port, bits, to := uint16(0), uint8(0), uint8(0)
	if b := e.iface.bulk.link; b != nil {
		port = b.Port()
	}
	if o.kind == opGet {
		to = o.remote.Port
		if o.asked == 0 {
			bits = bitFirst
		}
	}
	how := uint64(o.token) | uint64(port)<<32 | uint64(e.iface.bulk.weigh())<<48
	h := Header{ID: idAsk, Ports: Ports{To: to}, Bits: bits, Arg: o.id}
	if !e.sendWords(h, o.remote.Key, o.remote.Offset, uint64(len(o.data)), at, n, how) {
		return false
	}
	if at < uint64(o.asked) {
		e.iface.counts.Again++
	}
	o.asked = max(o.asked, int(at+n))
	return true
}

// takeBulk takes frames that have come, straight to where they belong. It stops at the end of a
// pull, which somebody usually waits for, and reports it.
func (i *Iface) takeBulk() (n int, ended bool) {
	b, empty := i.bulk.link, i.bulk.empty
	i.bulk.empty = false
	for ; b != nil && n < bulkPerTurn && !ended; n++ {
		f, size, ok := b.Next()
		if !ok {
			i.bulk.empty = true
			i.bulk.vain++
			break
		}
		o := i.frameOf(f, size)
		if o == nil {
			_, _ = b.Take(nil) // a copy, or too late
			continue
		}
		whole, err := b.Take(o.data[f.At : f.At+uint64(size)])
		switch {
		case err != nil:
			o.ep.completePull(o, err)
		case whole:
			ended = i.tookFrame(o, f.At, uint64(size))
		}
	}
	waiting := 0
	if n == bulkPerTurn && empty && len(i.active) == 0 {
		waiting = b.Waiting()
	}
	i.bulk.turn(n, waiting)
	return n, ended
}

// frameOf is the operation that expects a frame, or nil.
func (i *Iface) frameOf(f pm.Frame, size int) *op {
	o := i.calls.Get(f.Call)
	if o == nil || o.pull == nil || o.ep.rank != f.Rank || o.token != f.Token || o.completed || o.ep.inboundClosed {
		return nil
	}
	if !o.pull.Expects(f.At, uint64(size)) || o.ep.regionClosed(o) {
		return nil
	}
	return o
}

// regionClosed reports whether a put's memory was closed meanwhile, and ends the put then.
func (e *EP) regionClosed(o *op) bool {
	if o.kind != opFill || !o.target.over() {
		return false
	}
	e.completePull(o, ErrKey)
	return true
}

// tookFrame takes note of bytes that came, and reports whether they were the last of the pull.
func (i *Iface) tookFrame(o *op, at, n uint64) (last bool) {
	i.bulk.reader.Took(bulkNow(), o.pull, at, n)
	if last = o.pull.Done(); last {
		o.ep.completePull(o, nil)
	}
	return last
}

// onPulled takes a part of a pull that came through the channel.
func (e *EP) onPulled(p *Packet, o *op, at uint64, size int) {
	switch {
	case o.completed || e.regionClosed(o):
		return
	case size <= 0 || !o.pull.Expects(at, uint64(size)):
		e.Violated()
		return
	}
	if _, err := p.CopyTo(o.data[at:at+uint64(size)], 8); err != nil {
		return // the peer died
	}
	e.iface.tookFrame(o, at, uint64(size))
}

// onSent notes that the owner has sent a piece, or why it cannot. The pull may have ended: the
// answer to a probe crosses frames.
func onSent(p *Packet) {
	e := p.EP
	var w [3]uint64
	if !p.words(w[:]) {
		return
	}
	err := status(p.Bits).err()
	if errors.Is(err, ErrPeer) {
		e.Violated()
		return
	}
	o := e.iface.calls.Get(p.Arg)
	if o == nil || o.ep != e || o.pull == nil || uint64(o.token) != w[2] {
		return
	}
	e.iface.bulk.reader.Sent(bulkNow(), o.pull, w[0], w[1])
	switch {
	case err != nil && !o.completed:
		e.completePull(o, err)
	case o.completed && o.pull.Settled():
		e.finishCall(o, nil)
	}
}

// completePull ends a pull for its caller. If pieces have not come, the operation itself ends when
// its owner has said of each that it was sent: its number must not name another before.
func (e *EP) completePull(o *op, err error) {
	if o.completed {
		return
	}
	o.completed = true
	e.iface.bulk.reader.Stop(o.pull)
	done, settled := o.done, o.pull.Settled()
	o.done = nil
	e.endRead(o)
	if o.kind == opFill {
		e.finishFill(o, err)
	}
	if settled {
		e.finishCall(o, nil)
	}
	if done != nil {
		done.Complete(err)
	}
}

// finishFill reports the end of a put whose bytes were pulled.
func (e *EP) finishFill(o *op, err error) {
	why := statusOK
	if err != nil {
		why = statusKey // the bytes, or their place, are not there any more
	}
	e.servedRequest(why)
	if err != nil {
		return
	}
	h := Header{Ports: Ports{o.remote.Port, o.remote.From}}
	if o.hasImmediate {
		h.Bits = bitData
	}
	e.notePut(h, o.target.region, len(o.data), o.immediate)
}
