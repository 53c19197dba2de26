package uct

import "encoding/binary"

// advanceOp sends as much of the first operation of out as there is room for. whole reports that it
// has left out.
func (e *EP) advanceOp(o *op) (n int, whole bool) {
	if e.held(o) {
		return 0, false
	}
	switch o.kind {
	case opPut:
		n, whole = e.sendPut(o)
	case opAtomic:
		n, whole = e.sendAtomic(o)
	case opGet, opFetch:
		return e.sendCall(o)
	case opFill: // it is in no list
	}
	if whole {
		e.out.pop()
		e.unacked.push(o)
	}
	return n, whole
}

// held reports whether the first operation of out waits for an answer of the peer.
func (e *EP) held(o *op) bool {
	if e.barrier != nil {
		return true
	}
	calls := o.kind == opGet || o.kind == opFetch
	writes := o.kind != opGet
	return calls && e.gets >= MaxGets || writes && e.reads > 0
}

// endRead lets writes continue that waited for a long get.
func (e *EP) endRead(o *op) {
	if !o.holdsWrites {
		return
	}
	o.holdsWrites = false
	if e.reads--; e.reads == 0 && e.out.first != nil {
		e.activate()
	}
}

// countRequest counts a request that was sent.
func (e *EP) countRequest(o *op) { o.run.Add(e.asks.Send()) }

func (e *EP) sendPut(o *op) (n int, whole bool) {
	switch o.transfer {
	case byCopy:
		return e.sendPutCopy(o)
	case byBulk:
		return e.sendPutPull(o)
	case byPieces:
	}
	for ; n < piecesPerTurn; n++ {
		if !e.sendPiece(o) {
			return n, false
		}
		if o.sent == len(o.data) {
			return n + 1, true
		}
	}
	return n, false
}

// The lengths of what precedes the bytes of idPut: key and offset, and immediate data if it carries
// some.
const (
	putHead     = 16
	putDataHead = putHead + 8
)

func (e *EP) sendPiece(o *op) bool {
	head, bits := putHead, uint8(0)
	size := min(len(o.data)-o.sent, e.iface.maxPayload-putDataHead)
	switch last := o.sent+size == len(o.data); {
	case !last:
		bits = bitMore
	case o.hasImmediate:
		head, bits = putDataHead, bitData
	}
	length := uint64(len(o.data))
	h := Header{ID: idPut, Ports: Ports{o.remote.Port, o.remote.From}, Bits: bits | uint8(length>>32)<<lengthAt, Arg: uint32(length)}
	buf, err := e.reserve(h, head+size)
	if err != nil {
		return false
	}
	binary.LittleEndian.PutUint64(buf, o.remote.Key)
	binary.LittleEndian.PutUint64(buf[8:], o.remote.Offset+uint64(o.sent))
	if bits&bitData != 0 {
		binary.LittleEndian.PutUint64(buf[putHead:], o.immediate)
	}
	copy(buf[head:], o.data[o.sent:o.sent+size])
	if e.Commit() != nil {
		return false
	}
	e.countRequest(o)
	o.sent += size
	e.iface.counts.Streamed += uint64(size)
	return true
}

func (e *EP) sendPutCopy(o *op) (int, bool) {
	if !e.sendPutWords(idPutCopy, o, o.remote.Key, o.remote.Offset, uint64(len(o.data)), address(o.data), o.immediate) {
		return 0, false
	}
	e.countRequest(o)
	return 1, true
}

// sendCall sends a get or a fetching atomic.
func (e *EP) sendCall(o *op) (int, bool) {
	o.id = e.iface.calls.Add(o) // it has a number only while the peer may answer
	var sent bool
	switch {
	case o.kind == opFetch:
		sent = e.sendAtomicRequest(o)
	case o.transfer == byBulk:
		e.iface.startPull(o)
		sent = true
	default:
		sent = e.sendGet(o)
	}
	if !sent {
		e.iface.calls.Remove(o.id)
		o.id = 0
		return 0, false
	}
	e.gets++
	if o.holdsWrites {
		e.reads++
	}
	e.out.pop()
	return 1, true
}

func (e *EP) sendGet(o *op) bool {
	to := uint64(0)
	if o.transfer == byCopy {
		to = address(o.data)
	}
	return e.sendWords(Header{ID: idGet, Ports: Ports{To: o.remote.Port}, Arg: o.id}, o.remote.Key, o.remote.Offset, uint64(len(o.data)), to)
}

// sendPutWords sends a put whose bytes do not go along. The last word is immediate data, which is
// left out if the put has none.
func (e *EP) sendPutWords(id uint8, o *op, words ...uint64) bool {
	bits := bitData
	if !o.hasImmediate {
		bits, words = 0, words[:len(words)-1]
	}
	return e.sendWords(Header{ID: id, Ports: Ports{o.remote.Port, o.remote.From}, Bits: bits}, words...)
}

// sendWords sends a message with a payload of words.
func (e *EP) sendWords(h Header, words ...uint64) bool {
	buf, err := e.reserve(h, 8*len(words))
	if err != nil {
		return false
	}
	putWords(buf, words...)
	return e.Commit() == nil
}

func putWords(buf []byte, words ...uint64) {
	for i, w := range words {
		binary.LittleEndian.PutUint64(buf[8*i:], w)
	}
}

// sendPutPull asks the peer to pull the bytes of a put. What was begun after it waits until they
// are there, so that requests are served in their order.
func (e *EP) sendPutPull(o *op) (int, bool) {
	o.exposed = e.iface.md.Expose(o.data)
	if !e.sendPutWords(idPutPull, o, o.remote.Key, o.remote.Offset, uint64(len(o.data)), o.exposed.Key, o.exposed.Offset, o.immediate) {
		e.iface.md.Conceal(o.exposed)
		o.exposed = Exposed{}
		return 0, false
	}
	e.countRequest(o)
	e.barrier = o
	return 1, true
}

// endBarrier lets what waits for a put go on, if it was that one.
func (e *EP) endBarrier(o *op) {
	if e.barrier != o {
		return
	}
	if e.barrier = nil; e.out.first != nil {
		e.activate()
	}
}
