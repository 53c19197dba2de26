package uct

import (
	"errors"
	"score/pm/mem"
	"score/pm/uct/order"
)

// onPut serves a piece of a put.
func onPut(p *Packet) {
	e := p.EP
	var w [3]uint64
	n, ok := p.readPut(w[:])
	if !ok {
		return
	}
	size := p.Len() - 8*n
	if w[0] == flushKey && size == 0 {
		e.servedRequest(statusOK)
		return
	}
	memory, r, why := e.iface.md.find(w[0], w[1], uint64(size), RemoteWrite)
	if why == statusOK {
		if _, err := p.CopyTo(memory, 8*n); err != nil {
			return // the peer died
		}
	}
	e.servedRequest(why)
	e.afterPut(p, r, why, size, w[2])
}

// onPutCopy serves a put by copying from the peer's memory.
func onPutCopy(p *Packet) {
	e := p.EP
	var w [5]uint64
	if _, ok := p.readPut(w[:]); !ok {
		return
	}
	key, offset, length, from := w[0], w[1], w[2], w[3]
	memory, r, why := e.iface.md.find(key, offset, length, RemoteWrite)
	if why == statusOK {
		if !e.copy(func(p *mem.Peer) error { return p.Read(memory, from) }) {
			return
		}
		e.iface.counts.Copied += length
	}
	e.servedRequest(why)
	e.afterPut(p, r, why, int(length), w[4])
}

func (e *EP) afterPut(p *Packet, r *Region, why status, length int, immediate uint64) {
	if why != statusOK || p.Bits&bitMore != 0 {
		return
	}
	if p.ID == idPut {
		length = int(p.Arg) | int(p.Bits>>lengthAt)<<32 // of all pieces
	}
	e.notePut(p.Header, r, length, immediate)
}

// notePut notifies the program of a put that was served.
func (e *EP) notePut(p Header, r *Region, length int, immediate uint64) {
	if r.notify != nil {
		r.notify(e, p.To, RemoteWrite, length)
	}
	if p.Bits&bitData != 0 && e.iface.onData != nil {
		e.iface.onData(e, Header{To: p.To, From: p.From}, immediate, length)
	}
}

// servedRequest counts a request and queues its acknowledgement.
func (e *EP) servedRequest(why status) {
	number := e.answers.Serve()
	e.iface.counts.Served++
	e.activate()
	if why == statusOK {
		return
	}
	if o := e.replies.last; o != nil && o.reply == replyNak && o.status == why && o.run.Precedes(number) {
		o.run.Add(number)
		return
	}
	if o := e.newReply(replyNak, 0); o != nil {
		o.status, o.run = why, order.RunOf(number)
		e.answers.Refuse()
		e.answer(o)
	}
}

// onGet serves a get.
func onGet(p *Packet) {
	e := p.EP
	var w [4]uint64
	if !p.words(w[:]) {
		return
	}
	key, offset, length, to := w[0], w[1], w[2], w[3]
	data, r, why := e.iface.md.find(key, offset, length, RemoteRead)
	e.iface.counts.Served++
	if why != statusOK || length == 0 {
		e.replyDone(p.Arg, why)
		return
	}
	if r.notify != nil {
		defer r.notify(e, p.To, RemoteRead, len(data))
	}
	if to != 0 {
		if !e.copy(func(p *mem.Peer) error { return p.Write(to, data) }) {
			return
		}
		e.iface.counts.Copied += length
		e.replyDone(p.Arg, statusOK)
		return
	}
	if o := e.newReply(replyData, p.Arg); o != nil {
		o.data, o.region, o.incarnation = data, r, r.incarnation
		if !e.answer(o) && len(data) <= maxSnapshot {
			o.buf = append(o.buf[:0], data...)
			o.data, o.region = o.buf, nil
		}
	}
}

// copy copies between the processes, and reports whether it did. A peer that named memory that does
// not exist is dropped; the death of a peer is reported separately.
func (e *EP) copy(do func(*mem.Peer) error) bool {
	p := e.peerProcess()
	if p == nil {
		e.violated()
		return false
	}
	err := do(p)
	if err != nil && !errors.Is(err, mem.ErrGone) {
		e.violated()
	}
	return err == nil
}
