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
		e.iface.onData(e, p.Ports, immediate, length)
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
	if n := e.replies.len(); n > 0 && e.replies.at(n-1).addRefused(number, why) {
		return
	}
	if a := e.newReply(replyNak, 0); a != nil {
		a.status, a.run = why, order.RunOf(number)
		e.answers.Refuse()
		e.reply(a)
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
	if a := e.newReply(replyData, p.Arg); a != nil {
		a.data, a.source = data, r.use()
		if !e.reply(a) && len(data) <= maxSnapshot {
			a.buf = append(a.buf[:0], data...)
			a.data, a.source = a.buf, regionUse{}
		}
	}
}

// copy copies between the processes, and reports whether it did. A peer that named memory that does
// not exist is dropped; the death of a peer is reported separately.
func (e *EP) copy(do func(*mem.Peer) error) bool {
	p := e.peerProcess()
	if p == nil {
		e.Violated()
		return false
	}
	err := do(p)
	if err != nil && !errors.Is(err, mem.ErrGone) {
		e.Violated()
	}
	return err == nil
}
