package uct

import (
	"score/pm/uct/order"
	"score/pm/uct/pull"
)

const (
	// maxAsked is the number of answers waiting for room beyond which a peer's questions (what a
	// key is, whether copies are possible) are ignored. The peer goes on without.
	maxAsked = MaxOps
	// maxServes bounds the answers kept for one peer: an honest peer cannot have asked for more. Of
	// pieces these are two for each that is under way, and the probes of those that came meanwhile.
	maxServes = maxAsked + MaxOps + 3*(MaxGets+1)*pull.MaxPieces
)

// replyKind is the message that a reply sends.
type replyKind uint8

const (
	replyData        replyKind = iota // data, in pieces
	replyDone                         // the call has ended, with status
	replyNak                          // the requests of run failed, with status
	replyDescription                  // buf
	replyCopies                       // copies
	replyBulk                         // a piece of data, as bulk datagrams
	replySent                         // that a piece was sent
)

// reply is an answer to the peer. Interfaces keep those that were sent for reuse.
//
//	sent <= len(data)
type reply struct {
	next *reply // of those kept for reuse

	kind     replyKind
	status   status
	copies   copies // whether this process can copy
	copied   copied // frames that the reader wants copied; of replyBulk
	bulkPort uint16 // the peer's port for bulk datagrams; 0: it has none
	call     uint32 // the peer's number
	token    uint32 // the peer's; of replyBulk and replySent
	run      order.Run

	data   []byte
	sent   int       // bytes, of replyData
	buf    []byte    // a description, or what data is a copy in; kept for reuse
	source regionUse // data is part of it; none: of buf
	piece  pull.Owner
}

// newReply returns a reply to the peer's call; nil if the peer asked for too much, which drops it.
func (e *EP) newReply(kind replyKind, call uint32) *reply {
	if e.serves >= maxServes {
		e.Violated()
		return nil
	}
	a := e.iface.spareReplies
	if a == nil {
		a = &reply{}
	} else {
		e.iface.spareReplies = a.next
		a.next = nil
	}
	a.kind, a.call = kind, call
	e.serves++
	return a
}

// finishReply ends a reply that is not in the queue.
func (e *EP) finishReply(a *reply) {
	e.serves--
	if a.kind == replyNak {
		e.answers.Refused()
	}
	*a = reply{next: e.iface.spareReplies, buf: a.buf[:0]}
	e.iface.spareReplies = a
}

// reply sends as much of a reply as there is room for; Progress sends the rest. It reports whether
// all was sent: then the reply has ended.
func (e *EP) reply(a *reply) (whole bool) {
	if e.replies.len() == 0 {
		if _, whole = e.sendReply(a); whole {
			e.finishReply(a)
			return true
		}
		e.activate()
	}
	e.replies.push(a)
	return false
}

func (e *EP) advanceReplies() (n int) {
	for e.replies.len() > 0 {
		sent, whole := e.sendReply(e.replies.at(0))
		n += sent
		if !whole {
			break
		}
		e.finishReply(e.replies.pop())
	}
	return n
}

func (e *EP) replyDone(call uint32, why status) {
	if a := e.newReply(replyDone, call); a != nil {
		a.status = why
		e.reply(a)
	}
}

// addRefused adds a request to a refusal for the same reason, if it is the one behind, and reports
// whether it did.
func (a *reply) addRefused(number uint32, why status) bool {
	if a.kind != replyNak || a.status != why || !a.run.Precedes(number) {
		return false
	}
	a.run.Add(number)
	return true
}

// sendReply sends as much of a reply as there is room for. whole reports that all was sent.
func (e *EP) sendReply(a *reply) (n int, whole bool) {
	switch a.kind {
	case replyData:
		n, whole = e.sendData(a)
	case replyDone:
		whole = e.sendDone(a, a.status)
	case replyBulk:
		n, whole = e.sendBulk(a)
	case replySent:
		whole = e.sendSent(a)
	case replyNak:
		whole = e.sendNak(a)
	case replyCopies:
		whole = e.send(Header{ID: idCopies, Bits: uint8(a.copies)}, nil) == nil
	case replyDescription:
		whole = e.send(Header{ID: idDescription}, a.buf) == nil
	}
	if whole {
		n++
	}
	return n, whole
}

func (e *EP) sendDone(a *reply, why status) bool {
	return e.send(Header{ID: idDone, Arg: a.call, Bits: uint8(why)}, nil) == nil
}

func (e *EP) sendNak(a *reply) bool {
	return e.sendWords(Header{ID: idNak, Arg: a.run.First, Bits: uint8(a.status)}, uint64(a.run.Last))
}

// sendData sends pieces of an answer. If its memory was closed meanwhile, it says so instead.
func (e *EP) sendData(a *reply) (n int, whole bool) {
	if a.source.over() {
		return 0, e.sendDone(a, statusKey)
	}
	for n < piecesPerTurn {
		size := min(len(a.data)-a.sent, e.iface.maxPayload-dataHead)
		if !e.sendDataPiece(a, a.sent, size) {
			return n, false
		}
		n++
		if a.sent += size; a.sent == len(a.data) {
			return n, true
		}
	}
	return n, false
}

// dataHead is the length of what precedes the bytes of idData: their offset.
const dataHead = 8

// sendDataPiece sends bytes of an answer through the channel.
func (e *EP) sendDataPiece(a *reply, at, size int) bool {
	buf, err := e.reserve(Header{ID: idData, Arg: a.call}, dataHead+size)
	if err != nil {
		return false
	}
	putWords(buf, uint64(at))
	copy(buf[dataHead:], a.data[at:at+size])
	if e.Commit() != nil {
		return false
	}
	e.iface.counts.Streamed += uint64(size)
	return true
}
