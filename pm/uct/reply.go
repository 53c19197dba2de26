package uct

import "score/pm/uct/pull"

const (
	// maxAsked is the number of answers waiting for room beyond which a peer's questions (what a
	// key is, whether copies are possible) are ignored. The peer goes on without.
	maxAsked = MaxOps
	// maxServes bounds the answers kept for one peer: an honest peer cannot have asked for more.
	maxServes = maxAsked + MaxOps + (MaxGets+1)*pull.MaxPieces
)

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
