package uct

import (
	"errors"
	"score/pm"
	"score/pm/uct/pull"
)

// onAsk begins to send a piece of memory.
func onAsk(p *Packet) {
	e := p.EP
	var w [6]uint64
	if !p.words(w[:]) {
		return
	}
	key, offset, length, at, n := w[0], w[1], w[2], w[3], w[4]
	a := e.newReply(replyBulk, p.Arg)
	if a == nil {
		return
	}
	a.token, a.bulkPort, a.copied = uint32(w[5]), uint16(w[5]>>32), copied(w[5]>>48)
	var within bool
	if a.piece, within = pull.Serve(length, at, n); !within {
		at, n = 0, 0
	}
	data, r, why := e.iface.md.findPiece(key, offset, length, at, n, RemoteRead)
	if !within && why == statusOK {
		why = statusRange
	}
	if why == statusOK && n < length && key&exposedBit == 0 && !e.sameSource(p.Arg, a.token, r) {
		why = statusKey // exposed keys have a turn
	}
	e.iface.counts.Served++
	if a.status = why; why == statusOK {
		a.data, a.source = data, r.use()
	}
	e.reply(a)
	if why == statusOK && r.notify != nil && p.Bits == bitFirst {
		r.notify(e, p.To, RemoteRead, len(data))
	}
}

// onProbe tells the peer that a piece was sent: answers go in order, so it was before this one.
func onProbe(p *Packet) {
	e := p.EP
	var w [3]uint64
	if !p.words(w[:]) {
		return
	}
	a := e.newReply(replySent, p.Arg)
	if a == nil {
		return
	}
	a.piece, _ = pull.Serve(0, w[0], w[1]) // of no transfer: it is only named
	a.token = uint32(w[2])
	e.reply(a)
}

// sendSent says that a piece was sent, or why it cannot be.
func (e *EP) sendSent(a *reply) bool {
	at, n := a.piece.Piece()
	return e.sendWords(Header{ID: idSent, Arg: a.call, Bits: uint8(a.status)}, at, n, uint64(a.token))
}

// sendBulk sends as much of a piece as there is room for, straight from the memory.
func (e *EP) sendBulk(a *reply) (n int, whole bool) {
	if b := e.ahead(a); b != nil {
		defer b.Ahead(e.rank, nil)
	}
	for a.status == statusOK && !a.piece.Done() {
		if a.source.over() {
			a.status = statusKey // the memory was taken away
			break
		}
		if n++; n > bulkPerTurn || !e.sendFrame(a) {
			return n - 1, false
		}
	}
	return n, a.status == statusOK || e.sendSent(a)
}

// ahead prepares the frames of a turn, if their bytes are sent from where they lie.
func (e *EP) ahead(a *reply) *pm.Bulk {
	b := e.iface.bulkLink()
	if b == nil || a.bulkPort == 0 || a.copied > 0 || a.status != statusOK || a.source.over() {
		return nil
	}
	at, size, _ := a.piece.Next(bulkAhead)
	b.Ahead(e.rank, a.data[at:at+size])
	return b
}

// sendFrame sends the next frame of a piece: through the channel if the way is too narrow, or one
// of both has no socket for it. It is false if nothing can be sent now.
func (e *EP) sendFrame(a *reply) bool {
	b, maxFrame := e.iface.bulkLink(), 0
	if b != nil && a.bulkPort != 0 {
		maxFrame = b.MaxFrame(e.rank)
	}
	if maxFrame == 0 {
		at, size, _ := a.piece.Next(uint64(e.iface.maxPayload - dataHead))
		if !e.sendDataPiece(a, int(at), int(size)) {
			return false
		}
		a.piece.Passed(size)
		return true
	}
	at, size, _ := a.piece.Next(uint64(maxFrame))
	size = uint64(b.Fit(e.rank, a.data[at:at+size]))
	err := b.Send(pm.Frame{Rank: e.rank, Call: a.call, Token: a.token, At: at}, a.bulkPort, a.data[at:at+size], !a.copied.of(at))
	switch {
	case err == nil:
		a.piece.Passed(size)
		e.iface.counts.Streamed += size
		e.iface.counts.Bulk += size
	case errors.Is(err, pm.ErrFull):
		return false
	case errors.Is(err, pm.ErrFault):
		a.status = statusKey
	}
	return true
}

// onPutPull begins to pull the bytes of a put to where they belong.
func onPutPull(p *Packet) {
	e := p.EP
	var w [6]uint64
	if _, ok := p.readPut(w[:]); !ok {
		return
	}
	memory, r, why := e.iface.md.find(w[0], w[1], w[2], RemoteWrite)
	if why != statusOK || len(memory) == 0 {
		e.servedRequest(why)
		return
	}
	if e.serves >= maxServes {
		e.Violated()
		return
	}
	o := e.newOp(opFill, nil)
	o.data, o.target = memory, r.use()
	o.remote = Remote{Key: w[3], Offset: w[4], Port: p.To, From: p.From}
	o.hasImmediate, o.immediate = p.Bits&bitData != 0, w[5]
	o.id = e.iface.calls.Add(o)
	e.iface.startPull(o)
}
