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
	o := e.newReply(replyBulk, p.Arg)
	if o == nil {
		return
	}
	o.token, o.bulkPort, o.copied = uint32(w[5]), uint16(w[5]>>32), copied(w[5]>>48)
	var within bool
	if o.piece, within = pull.Serve(length, at, n); !within {
		at, n = 0, 0
	}
	data, r, why := e.iface.md.findPiece(key, offset, length, at, n, RemoteRead)
	if !within && why == statusOK {
		why = statusRange
	}
	if why == statusOK && n < length && key&exposedBit == 0 && !e.sameSource(p.Arg, o.token, r) {
		why = statusKey // exposed keys have a turn
	}
	e.iface.counts.Served++
	if o.status = why; why == statusOK {
		o.data, o.region, o.incarnation = data, r, r.incarnation
	}
	e.answer(o)
	if why == statusOK && r.notify != nil && p.Bits == bitFirst {
		r.notify(e, p.To, RemoteRead, len(data))
	}
}

// sendBulk sends as much of a piece as there is room for, straight from the memory, and then
// confirms it.
func (e *EP) sendBulk(o *op) (n int, whole bool) {
	if b := e.ahead(o); b != nil {
		defer b.Ahead(e.rank, nil)
	}
	for o.status == statusOK && !o.piece.Done() {
		if o.region.incarnation != o.incarnation {
			o.status = statusKey // the memory was taken away
			break
		}
		if n++; n > bulkPerTurn || !e.sendFrame(o) {
			return n - 1, false
		}
	}
	buf, err := e.reserve(Header{ID: idSent, Arg: o.id, Bits: uint8(o.status)}, 16)
	if err != nil {
		return n, false
	}
	at, size := o.piece.Piece()
	putWords(buf, at, size)
	return n, e.Commit() == nil
}

// ahead prepares the frames of a turn, if their bytes are sent from where they lie.
func (e *EP) ahead(o *op) *pm.Bulk {
	b := e.iface.bulkLink()
	if b == nil || o.bulkPort == 0 || o.copied > 0 || o.status != statusOK || o.region.incarnation != o.incarnation {
		return nil
	}
	at, size, _ := o.piece.Next(bulkAhead)
	b.Ahead(e.rank, o.data[at:at+size])
	return b
}

// sendFrame sends the next frame of a piece: through the channel if the way is too narrow, or one
// of both has no socket for it. It is false if nothing can be sent now.
func (e *EP) sendFrame(o *op) bool {
	b, maxFrame := e.iface.bulkLink(), 0
	if b != nil && o.bulkPort != 0 {
		maxFrame = b.MaxFrame(e.rank)
	}
	if maxFrame == 0 {
		at, size, _ := o.piece.Next(uint64(e.iface.maxPayload - dataHead))
		if !e.sendDataPiece(o, int(at), int(size)) {
			return false
		}
		o.piece.Passed(size)
		return true
	}
	at, size, _ := o.piece.Next(uint64(maxFrame))
	size = uint64(b.Fit(e.rank, o.data[at:at+size]))
	err := b.Send(pm.Frame{Rank: e.rank, Call: o.id, Token: o.token, At: at}, o.bulkPort, o.data[at:at+size], !o.copied.of(at))
	switch {
	case err == nil:
		o.piece.Passed(size)
		e.iface.counts.Streamed += size
		e.iface.counts.Bulk += size
	case errors.Is(err, pm.ErrFull):
		return false
	case errors.Is(err, pm.ErrFault):
		o.status = statusKey
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
		e.violated()
		return
	}
	o := e.newOp(opFill, nil)
	e.serves++
	o.data, o.region, o.incarnation = memory, r, r.incarnation
	o.remote = Remote{Key: w[3], Offset: w[4], Port: p.To, From: p.From}
	o.hasImmediate, o.immediate = p.Bits&bitData != 0, w[5]
	o.id = e.iface.calls.Add(o)
	e.iface.startPull(o)
}
