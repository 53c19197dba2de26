package uct

import "score/pm/mem/atomics"

// MaxAtomicBytes bounds the operands of one atomic operation: it is copied until it was sent. A
// channel with credits, whose messages are short, carries a little less.
const MaxAtomicBytes = 1 << 10

const atomicHead = 24 // key, offset and a word that describes the operation

// AtomicKind says what an atomic operation does, and to what. With Swap it is a compare-and-swap,
// and Op is not looked at; with Masked too it replaces the bits that compare has, whatever they
// were.
type AtomicKind struct {
	Op     atomics.Op
	Type   atomics.Type
	Swap   bool
	Masked bool
}

// Valid reports whether there is such an operation.
func (k AtomicKind) Valid() bool {
	if k.Swap {
		return k.Type.Size() > 0 && (!k.Masked || k.Type < atomics.Float32)
	}
	_, ok := atomics.Lookup(k.Op, k.Type)
	return ok
}

// apply does it. operand is empty for NoOp, compare but for a compare-and-swap.
func (k AtomicKind) apply(target, operand, compare, result []byte) status {
	if k.do(target, operand, compare, result) != nil {
		return statusOperation
	}
	return statusOK
}

func (k AtomicKind) do(target, operand, compare, result []byte) error {
	switch {
	case k.Swap && k.Masked:
		return atomics.MaskedSwap(k.Type, target, compare, operand, result)
	case k.Swap:
		return atomics.CompareAndSwap(k.Type, target, compare, operand, result)
	}
	f, ok := atomics.Lookup(k.Op, k.Type)
	if !ok {
		return ErrOperation
	}
	if k.Op == atomics.NoOp {
		operand = nil
	}
	return f(target, operand, result)
}

// Atomic does an operation on elements of the peer's memory. operand holds as many elements as are
// changed, and is the caller's again when Atomic returns. done is called when it was done.
func (e *EP) Atomic(k AtomicKind, operand []byte, at Remote, done Completion) error {
	return e.atomic(k, operand, nil, nil, at, done)
}

// FetchAtomic is Atomic, and copies what the elements were before to result. compare is for a
// compare-and-swap; both it and operand are the caller's again when FetchAtomic returns.
func (e *EP) FetchAtomic(k AtomicKind, operand, compare, result []byte, at Remote, done Completion) error {
	return e.atomic(k, operand, compare, result, at, done)
}

func (e *EP) atomic(k AtomicKind, operand, compare, result []byte, at Remote, done Completion) error {
	if err := e.begin(); err != nil {
		return err
	}
	n := max(len(operand), len(result))
	if !k.Valid() || n%k.Type.Size() != 0 || k.Swap && len(compare) != n {
		return ErrOperation
	}
	if n+len(compare) > min(MaxAtomicBytes, e.iface.maxPayload-atomicHead) {
		return ErrTooLong
	}
	if e.local && e.ops == 0 {
		if memory := e.direct(at, n, RemoteAtomic); memory != nil {
			if err := k.apply(memory, operand, compare, result).err(); err != nil {
				return err
			}
			return e.immediate(done)
		}
	}
	kind := opAtomic
	if len(result) > 0 {
		kind = opFetch
	}
	o := e.newOp(kind, done)
	o.data, o.remote, o.atomic, o.count = result, at, k, n
	o.buf = append(append(o.buf[:0], operand...), compare...)
	if len(operand) == 0 { // a read: the elements still have to be counted
		o.buf = append(o.buf, make([]byte, n)...)
	}
	e.start(o)
	return nil
}

func (e *EP) sendAtomic(o *op) (int, bool) {
	if !e.sendAtomicRequest(o) {
		return 0, false
	}
	e.countRequest(o)
	return 1, true
}

// bits of the word that describes an atomic
const (
	atomicTypeShift  = 8
	atomicSwap       = 1 << 16
	atomicMasked     = 1 << 17
	atomicCountShift = 32
)

func (e *EP) sendAtomicRequest(o *op) bool {
	buf, err := e.reserve(Header{ID: idAtomic, Ports: Ports{To: o.remote.Port}, Arg: o.id}, atomicHead+len(o.buf))
	if err != nil {
		return false
	}
	word := uint64(o.atomic.Op) | uint64(o.atomic.Type)<<atomicTypeShift | uint64(o.count)<<atomicCountShift
	if o.atomic.Swap {
		word |= atomicSwap
	}
	if o.atomic.Masked {
		word |= atomicMasked
	}
	putWords(buf, o.remote.Key, o.remote.Offset, word)
	copy(buf[atomicHead:], o.buf)
	return e.Commit() == nil
}

// onAtomic serves an atomic.
func onAtomic(p *Packet) {
	e := p.EP
	var w [3]uint64
	if !p.words(w[:]) {
		return
	}
	kind := AtomicKind{
		Op: atomics.Op(w[2]), Type: atomics.Type(w[2] >> atomicTypeShift), Swap: w[2]&atomicSwap != 0,
		Masked: w[2]&atomicMasked != 0,
	}
	n := int(w[2] >> atomicCountShift)
	data, err := p.Bytes()
	if err != nil {
		return // the peer died
	}
	operands := data[atomicHead:]
	if want := n; len(operands) != want && (!kind.Swap || len(operands) != 2*want) || n > MaxAtomicBytes {
		e.Violated()
		return
	}
	memory, r, why := e.iface.md.find(w[0], w[1], uint64(n), RemoteAtomic)
	if p.Arg == 0 {
		if why == statusOK {
			why = kind.apply(memory, operands[:n], operands[n:], nil)
		}
		e.servedRequest(why)
	} else {
		e.iface.counts.Served++
		e.replyAtomic(p.Arg, kind, memory, why, operands)
	}
	if why == statusOK && r.notify != nil {
		r.notify(e, p.To, kind.access(p.Arg != 0), n)
	}
}

// access says what an operation did with the memory.
func (k AtomicKind) access(fetches bool) Access {
	switch {
	case !fetches:
		return RemoteAtomic
	case !k.Swap && k.Op == atomics.NoOp:
		return RemoteRead
	}
	return RemoteAtomic | RemoteRead
}

func (e *EP) replyAtomic(call uint32, kind AtomicKind, memory []byte, why status, operands []byte) {
	a := e.newReply(replyData, call)
	if a == nil {
		return
	}
	if n := len(memory); why == statusOK {
		a.buf = append(a.buf[:0], make([]byte, n)...)
		why = kind.apply(memory, operands[:n], operands[n:], a.buf)
	}
	a.data = a.buf
	if why != statusOK {
		a.kind, a.status = replyDone, why
	}
	e.reply(a)
}
