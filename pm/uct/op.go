package uct

import (
	"score/pm/uct/order"
	"score/pm/uct/pull"
	"time"
)

// Completion is called once when an operation has ended. A nil error means success.
type Completion interface {
	Complete(err error)
}

// opKind is the kind of an operation.
type opKind uint8

const (
	opPut    opKind = iota // data goes to the peer's region, in pieces or as one copy by the peer
	opGet                  // the peer's region goes to data
	opAtomic               // no result is wanted
	opFetch                // the result goes to data
	opFill                 // a put of the peer: its bytes are pulled to a region here
)

// op is an operation that is under way. Interfaces keep ended ones for reuse.
//
//	kind             waits in                ends when
//	opPut, opAtomic  out, then unacked       the peer has acknowledged the last request
//	opGet, opFetch   out, then iface.calls   data is complete, or the peer says why not
//	opFill           iface.calls             its pull is settled
//
//	sent, asked <= len(data)
type op struct {
	ep   *EP
	next *op // in a list of the EP, or of those kept for reuse
	done Completion
	err  error // the first failure that the peer reported

	kind         opKind
	transfer     transfer
	hasImmediate bool // immediate data comes with a put
	holdsWrites  bool // a long get: the peer may still read the memory after it has met what follows
	completed    bool // a pull whose done was called early: what its owner still sends is dropped

	id        uint32 // in calls
	data      []byte
	remote    Remote    // the peer's memory; of opFill: the source, and the ports of the put
	immediate uint64    // immediate data
	sent      int       // bytes, of opPut
	received  int       // bytes, of opGet and opFetch
	run       order.Run // requests that were sent

	// Atomics.
	atomic AtomicKind
	count  int    // elements
	buf    []byte // operands; kept for reuse

	// Pulls by bulk datagrams.
	pull    *pull.Pull // in iface.bulk.reader; nil before it is begun
	asked   int        // bytes
	exposed Exposed    // the bytes of a put that the peer pulls
	token   uint32     // names the pull in frames

	// Pulls inside the node.
	source     uint64    // address in the owner's process, for a copy if the bytes are late; 0: none
	timedFrom  int       // bytes that had come at timedSince
	timedSince time.Time // when the first piece came

	target regionUse // of opFill: data is part of it
}

// opList is a queue of operations.
type opList struct{ first, last *op }

func (l *opList) push(o *op) {
	o.next = nil
	if l.last == nil {
		l.first = o
	} else {
		l.last.next = o
	}
	l.last = o
}

func (l *opList) pop() *op {
	o := l.first
	if l.first = o.next; l.first == nil {
		l.last = nil
	}
	o.next = nil
	return o
}

// newOp takes an operation from those kept for reuse.
func (e *EP) newOp(kind opKind, done Completion) *op {
	i := e.iface
	o := i.spareOps
	if o == nil {
		o = &op{}
	} else {
		i.spareOps = o.next
		o.next = nil
	}
	o.ep, o.kind, o.done = e, kind, done
	if i.owed++; kind == opFill {
		e.serves++
	} else {
		e.ops++
	}
	return o
}

// finish ends an operation that is in no list.
func (e *EP) finish(o *op, err error) {
	i, done := e.iface, o.done
	switch o.kind {
	case opFill:
		e.serves--
		i.releasePull(o)
		i.calls.Remove(o.id)
	case opGet, opFetch:
		i.releasePull(o)
		if o.id != 0 {
			i.calls.Remove(o.id)
			e.gets--
			e.endRead(o)
		}
		if o.source != 0 && !o.completed {
			i.pulls--
		}
		e.ops--
	case opPut, opAtomic:
		e.ops--
		e.endBarrier(o)
	}
	i.owed--
	if o.err != nil && err == nil {
		err = o.err
	}
	if o.exposed.Key != 0 {
		i.md.Conceal(o.exposed)
	}
	*o = op{next: i.spareOps, buf: o.buf[:0]}
	i.spareOps = o
	if done != nil {
		done.Complete(err)
	}
}

// cancel ends the operations of a list.
func (e *EP) cancel(l *opList, err error) {
	for l.first != nil {
		e.finish(l.pop(), err)
	}
}

// onAck ends the operations whose requests were all served.
func (e *EP) onAck(upTo uint32) {
	if !e.asks.OnAck(upTo) {
		e.Violated()
		return
	}
	for o := e.unacked.first; o != nil && e.asks.Served(o.run.Last); o = e.unacked.first {
		e.unacked.pop()
		e.finish(o, nil)
	}
}

// onNak records that requests failed.
func (e *EP) onNak(first, last uint32, why status) {
	err := why.err()
	if err == nil || err == ErrPeer { //nolint:errorlint // err returns this very value
		e.Violated()
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
