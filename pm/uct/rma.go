package uct

import "encoding/binary"

const (
	// MaxRMA is the longest Put, Get or Pull: its length has 38 bits in the header of a put.
	MaxRMA = 1 << 37
	// MaxGets bounds the operations of one EP that wait for data: the target keeps an answer for each.
	MaxGets = 64
	// copyFrom is from how many bytes on ranks that share CPUs copy once between the processes
	// instead of twice through the channel, which costs a switch of processes for each lane that is
	// full. With CPUs of their own both ranks copy at the same time, and only pulls may be copies
	// (see pace). Measured where the bytes between them stay in a cache: 64 KiB in 3 us, 1 MiB in 32
	// and 4 MiB in 130, by process_vm_readv in 7, 75 and 315.
	copyFrom = 16 << 10
	// snapMost is up to which length the answer to a get is copied if it cannot be sent at once: what
	// follows may write to the memory. The origin of a longer one holds that back.
	snapMost = MaxAtomicBytes
	// piecesPerTurn bounds what one operation sends before Progress looks at others.
	piecesPerTurn = 16
)

// Identifiers of the package's own messages.
const (
	idAck         uint8 = 1 + iota // requests up to number Arg were served
	idNak                          // requests Arg to the payload's number failed with status Bits
	idPut                          // request: key, offset, immediate data if bitData, bytes
	idPutCopy                      // request: key, offset, length, address of the bytes, data if bitData
	idGet                          // call Arg: key, offset, length, address for the bytes or 0
	idData                         // for call Arg: offset in the answer, bytes
	idDone                         // call Arg has ended with status Bits
	idAtomic                       // request, or call Arg: key, offset, operation, type, operands
	idDescribe                     // asks for the description of a key
	idDescription                  // of a key
	idBye                          // the sender closes its end
	idCopies                       // asks whether the peer may copy (Bits 0), or answers
	idAsk                          // call Arg: key, offset, length, a piece's place and length, where to
	idSent                         // call Arg: a piece's place and length; status in Bits
	idPutPull                      // request: key, offset, length, key and offset of the bytes, data if bitData
)

// Bits of a put.
const (
	bitData uint8 = 1 << iota // it carries immediate data
	bitMore                   // more pieces follow

	// lengthAt is where the bits of a put have those of its length that do not go into the argument.
	lengthAt = 2
)

// Remote names memory of a peer: length bytes from Offset on in the region of the key.
type Remote struct {
	Key    uint64
	Offset uint64
	Port   uint8 // which the target's handlers are told
	From   uint8 // this rank's, which they are told too
}

// Put copies data to the peer's memory. done is told when it is there; data must stay as it is
// until then. A nil done asks for no word.
func (e *EP) Put(data []byte, to Remote, done Completion) error {
	if err := e.beginRMA(len(data)); err != nil {
		return err
	}
	if e.local && e.ops == 0 {
		if mem := e.direct(to, len(data), RemoteWrite); mem != nil {
			copy(mem, data)
			return e.immediate(done)
		}
	}
	e.startPut(data, to, done)
	return nil
}

// PutData is Put with immediate data: the target's HandleData is called after the bytes are there.
func (e *EP) PutData(data []byte, to Remote, immediate uint64, done Completion) error {
	if err := e.beginRMA(len(data)); err != nil {
		return err
	}
	o := e.newPut(data, to, done)
	o.hasData, o.extra = true, immediate
	e.start(o)
	return nil
}

func (e *EP) startPut(data []byte, to Remote, done Completion) {
	e.start(e.newPut(data, to, done))
}

func (e *EP) newPut(data []byte, to Remote, done Completion) *op {
	o := e.newOp(opPut, done)
	o.data, o.key, o.offset, o.port, o.from = data, to.Key, to.Offset, to.Port, to.From
	o.copied = e.once(len(data)) && e.peerCopies()
	o.pulled = e.bulky(len(data))
	return o
}

// Get copies memory of the peer to data. done is told when it is there.
func (e *EP) Get(data []byte, from Remote, done Completion) error {
	if err := e.beginRMA(len(data)); err != nil {
		return err
	}
	if e.local && e.ops == 0 {
		if mem := e.direct(from, len(data), RemoteRead); mem != nil {
			copy(data, mem)
			return e.immediate(done)
		}
	}
	o := e.newOp(opGet, done)
	o.data, o.key, o.offset, o.port = data, from.Key, from.Offset, from.Port
	o.copied = e.once(len(data)) && e.peerCopies()
	o.pulled = e.bulky(len(data))
	o.reads = !o.copied && len(data) > snapMost
	e.start(o)
	return nil
}

// begin is the error of a one-sided operation that may not begin.
func (e *EP) begin() error {
	if err := e.ready(); err != nil {
		return err
	}
	if e.ops >= MaxOps {
		e.iface.counts.Exhausted++
		return ErrAgain
	}
	return nil
}

// beginRMA is begin of an operation on n bytes.
func (e *EP) beginRMA(n int) error {
	if n > MaxRMA {
		return ErrTooLong
	}
	return e.begin()
}

// immediate completes an operation that was done by load and store.
func (e *EP) immediate(done Completion) error {
	e.iface.counts.Direct++
	if done != nil {
		done.Complete(nil)
	}
	return nil
}

// start sends what goes of an operation; Progress sends the rest.
func (e *EP) start(o *op) { e.startIn(&e.out, o) }

// answer is start for an answer.
func (e *EP) answer(o *op) (whole bool) { return e.startIn(&e.replies, o) }

// startIn reports whether all of the operation was sent.
func (e *EP) startIn(l *opList, o *op) (whole bool) {
	waits := l.first != nil
	l.push(o)
	if waits {
		return false
	}
	if _, whole = e.advanceOp(o); !whole {
		e.activate()
	}
	return whole
}

// Flush completes when the peer has served all operations that were begun before.
func (e *EP) Flush(done Completion) error {
	if e.failed != nil {
		return e.failed
	}
	if e.ops == 0 {
		if done != nil {
			done.Complete(nil)
		}
		return nil
	}
	return e.Put(nil, Remote{Key: flushKey}, done)
}

// flushKey names no memory: a put of no bytes to it is an acknowledgement asked for.
const flushKey = ^uint64(0)

// Quiet reports whether the peer has served all operations. Fence needs no more than that: access
// by load and store waits for it, and everything else is served in order.
func (e *EP) Quiet() bool { return e.ops == 0 }

// advanceOp sends what goes of the first operation of out. whole reports that it has left out.
func (e *EP) advanceOp(o *op) (n int, whole bool) {
	if o.kind != opServe && e.held(o) {
		return 0, false
	}
	switch o.kind {
	case opPut:
		n, whole = e.sendPut(o)
	case opAtomic:
		n, whole = e.sendAtomic(o)
	case opGet, opFetch:
		return e.sendCall(o)
	case opServe:
		return e.sendReply(o)
	case opFill: // it is in no list
	}
	if whole {
		e.out.pop()
		e.unacked.push(o)
	}
	return n, whole
}

// held reports whether the first operation of out waits for an answer of the peer, which brings its
// turn.
func (e *EP) held(o *op) bool {
	if e.barrier != nil {
		return true
	}
	calls := o.kind == opGet || o.kind == opFetch
	writes := o.kind != opGet
	return calls && e.gets >= MaxGets || writes && e.reads > 0
}

// endRead has what writes go on.
func (e *EP) endRead(o *op) {
	if !o.reads {
		return
	}
	o.reads = false
	if e.reads--; e.reads == 0 && e.out.first != nil {
		e.activate()
	}
}

// requested numbers a request that was sent.
func (e *EP) requested(o *op) { o.run.Add(e.asks.Send()) }

func (e *EP) sendPut(o *op) (n int, whole bool) {
	switch {
	case o.copied:
		return e.sendPutCopy(o)
	case o.pulled:
		return e.sendPutPull(o)
	}
	for ; n < piecesPerTurn; n++ {
		if !e.sendPiece(o) {
			return n, false
		}
		if o.at == len(o.data) {
			return n + 1, true
		}
	}
	return n, false
}

func (e *EP) sendPiece(o *op) bool {
	head, bits := 16, uint8(0)
	size := min(len(o.data)-o.at, e.iface.most-24)
	switch last := o.at+size == len(o.data); {
	case !last:
		bits = bitMore
	case o.hasData:
		head, bits = 24, bitData
	}
	length := uint64(len(o.data))
	h := Header{ID: idPut, To: o.port, From: o.from, Bits: bits | uint8(length>>32)<<lengthAt, Arg: uint32(length)}
	buf, err := e.reserve(h, head+size)
	if err != nil {
		return false
	}
	binary.LittleEndian.PutUint64(buf, o.key)
	binary.LittleEndian.PutUint64(buf[8:], o.offset+uint64(o.at))
	if bits&bitData != 0 {
		binary.LittleEndian.PutUint64(buf[16:], o.extra)
	}
	copy(buf[head:], o.data[o.at:o.at+size])
	if e.Commit() != nil {
		return false
	}
	e.requested(o)
	o.at += size
	e.iface.counts.Streamed += uint64(size)
	return true
}

func (e *EP) sendPutCopy(o *op) (int, bool) {
	head, bits := 32, uint8(0)
	if o.hasData {
		head, bits = 40, bitData
	}
	buf, err := e.reserve(Header{ID: idPutCopy, To: o.port, From: o.from, Bits: bits}, head)
	if err != nil {
		return 0, false
	}
	putWords(buf, o.key, o.offset, uint64(len(o.data)), address(o.data))
	if bits != 0 {
		binary.LittleEndian.PutUint64(buf[32:], o.extra)
	}
	if e.Commit() != nil {
		return 0, false
	}
	e.requested(o)
	return 1, true
}

// sendCall sends a get or a fetching atomic.
func (e *EP) sendCall(o *op) (int, bool) {
	o.id = e.iface.calls.add(o) // it has a number only while the peer may answer
	sent := false
	switch {
	case o.kind == opFetch:
		sent = e.sendAtomicRequest(o)
	case o.pulled:
		e.iface.startPull(o)
		sent = true
	default:
		sent = e.sendGet(o)
	}
	if !sent {
		e.iface.calls.remove(o.id)
		o.id = 0
		return 0, false
	}
	e.gets++
	if o.reads {
		e.reads++
	}
	e.out.pop()
	return 1, true
}

func (e *EP) sendGet(o *op) bool {
	buf, err := e.reserve(Header{ID: idGet, To: o.port, Arg: o.id}, 32)
	if err != nil {
		return false
	}
	to := uint64(0)
	if o.copied {
		to = address(o.data)
	}
	putWords(buf, o.key, o.offset, uint64(len(o.data)), to)
	return e.Commit() == nil
}

func putWords(buf []byte, words ...uint64) {
	for i, w := range words {
		binary.LittleEndian.PutUint64(buf[8*i:], w)
	}
}

// onAck ends the operations whose requests were all served.
func (e *EP) onAck(upTo uint32) {
	if !e.asks.OnAck(upTo) {
		e.violated()
		return
	}
	for o := e.unacked.first; o != nil && e.asks.Served(o.run.Last); o = e.unacked.first {
		e.unacked.pop()
		e.finish(o, nil)
	}
}

// onNak notes that requests failed.
func (e *EP) onNak(first, last uint32, why status) {
	err := why.err()
	if err == nil || err == ErrPeer { //nolint:errorlint // err returns this very value
		e.violated()
		return
	}
	note := func(o *op) {
		if o.err == nil && o.run.Meets(first, last) {
			o.err = err
		}
	}
	for o := e.unacked.first; o != nil; o = o.next {
		note(o)
	}
	if e.out.first != nil {
		note(e.out.first)
	}
}
