package uct

import (
	"encoding/binary"
	"errors"
	"score/pm/mem"
	"score/pm/uct/order"
	"score/pm/uct/pull"
	"time"
)

const (
	// maxAsked is the number of answers waiting for room beyond which a peer's questions (what a
	// key is, whether copies are possible) are ignored. The peer goes on without.
	maxAsked = MaxOps
	// maxServes bounds the answers kept for one peer: an honest peer cannot have asked for more.
	maxServes = maxAsked + MaxOps + (MaxGets+1)*pull.MaxPieces
)

func (i *Iface) installHandlers() {
	h := &i.handlers
	h[idAck] = func(p *Packet) { p.EP.onAck(p.Arg) }
	h[idNak] = onNak
	h[idPut] = onPut
	h[idPutCopy] = onPutCopy
	h[idGet] = onGet
	h[idData] = onData
	h[idDone] = onDone
	h[idAtomic] = onAtomic
	h[idDescribe] = onDescribe
	h[idDescription] = onDescription
	h[idBye] = onBye
	h[idCopies] = onCopies
	h[idAsk] = onAsk
	h[idSent] = onSent
	h[idPutPull] = onPutPull
}

// words reads leading words of the payload into to. If they are missing, it returns false and drops
// the peer.
func (p *Packet) words(to []uint64) bool {
	head, err := p.Prefix(8 * len(to))
	if err != nil {
		if err == ErrPeer { //nolint:errorlint // Prefix returns this very value
			p.EP.violated()
		}
		return false
	}
	for i := range to {
		to[i] = binary.LittleEndian.Uint64(head[8*i:])
	}
	return true
}

// readPut reads the words of a put, n of them: the last is immediate data, which not each put has.
func (p *Packet) readPut(to []uint64) (n int, ok bool) {
	n = len(to)
	if p.Bits&bitData == 0 {
		n--
	}
	return n, p.words(to[:n])
}

func onNak(p *Packet) {
	var last [1]uint64
	if p.words(last[:]) {
		p.EP.onNak(p.Arg, uint32(last[0]), status(p.Bits))
	}
}

func onBye(p *Packet) { p.EP.fail(errPeerClosed) }

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

// newReply returns an answer to the peer's call; nil if the peer asked for too much, which drops
// it.
func (e *EP) newReply(what reply, call uint32) *op {
	if e.serves >= maxServes {
		e.violated()
		return nil
	}
	o := e.newOp(opServe, nil)
	o.reply, o.id = what, call
	e.serves++
	return o
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

func (e *EP) replyDone(call uint32, why status) {
	if o := e.newReply(replyDone, call); o != nil {
		o.status = why
		e.answer(o)
	}
}

// sendReply sends as much of an answer as there is room for. whole reports that it has left
// replies.
func (e *EP) sendReply(o *op) (n int, whole bool) {
	switch o.reply {
	case replyData:
		n, whole = e.sendData(o)
	case replyDone:
		whole = e.sendDone(o, o.status)
	case replyBulk:
		n, whole = e.sendBulk(o)
	case replyNak:
		whole = e.sendNak(o)
	case replyCopies:
		whole = e.send(Header{ID: idCopies, Bits: uint8(o.copies)}, nil) == nil
	case replyDescription:
		whole = e.send(Header{ID: idDescription}, o.buf) == nil
	}
	if !whole {
		return n, false
	}
	e.replies.pop()
	e.finish(o, nil)
	return n + 1, true
}

func (e *EP) sendDone(o *op, why status) bool {
	return e.send(Header{ID: idDone, Arg: o.id, Bits: uint8(why)}, nil) == nil
}

func (e *EP) sendNak(o *op) bool {
	buf, err := e.reserve(Header{ID: idNak, Arg: o.run.First, Bits: uint8(o.status)}, 8)
	if err != nil {
		return false
	}
	putWords(buf, uint64(o.run.Last))
	return e.Commit() == nil
}

// sendData sends pieces of an answer. If its memory was closed meanwhile, it says so instead.
func (e *EP) sendData(o *op) (n int, whole bool) {
	if o.region != nil && o.region.incarnation != o.incarnation {
		return 0, e.sendDone(o, statusKey)
	}
	for n < piecesPerTurn {
		size := min(len(o.data)-o.sent, e.iface.maxPayload-dataHead)
		if !e.sendDataPiece(o, o.sent, size) {
			return n, false
		}
		n++
		if o.sent += size; o.sent == len(o.data) {
			return n, true
		}
	}
	return n, false
}

// dataHead is the length of what precedes the bytes of idData: their offset.
const dataHead = 8

// sendDataPiece sends bytes of an answer through the channel.
func (e *EP) sendDataPiece(o *op, at, size int) bool {
	buf, err := e.reserve(Header{ID: idData, Arg: o.id}, dataHead+size)
	if err != nil {
		return false
	}
	putWords(buf, uint64(at))
	copy(buf[dataHead:], o.data[at:at+size])
	if e.Commit() != nil {
		return false
	}
	e.iface.counts.Streamed += uint64(size)
	return true
}

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
		e.violated()
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
		p.EP.violated()
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
