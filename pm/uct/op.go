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
	opServe                // answers the peer
	opFill                 // a put of the peer: its bytes are pulled to a region here
)

// op is an operation that is under way. Interfaces keep ended ones for reuse.
type op struct {
	ep   *EP
	next *op // in a list of the EP
	done Completion
	err  error // what the peer said of it

	kind    opKind
	pulled  bool   // the bytes come as bulk datagrams
	reads   bool   // a long get: the peer may still read the memory after it has met what follows
	copied  bool   // the peer, or this process, copies memory instead of pieces through the channel
	hasData bool   // immediate data comes with a put
	port    uint8  // at the peer
	from    uint8  // port of this rank, for immediate data
	id      uint32 // in calls; of opServe: the peer's
	data    []byte
	key     uint64
	offset  uint64     // in the region
	extra   uint64     // immediate data
	address uint64     // of a pull from this node: of the bytes in the owner's process; 0: none
	late    bool       // a pull that has ended for its caller: later messages of its owner are dropped
	pull    *pull.Pull // in iface.bulk.reader; of one that is pulled, once it was begun
	asked   int        // bytes of the pull that were asked for
	token   uint32     // of the pull; of replyBulk: the peer's
	to      uint16     // replyBulk: the peer's port for bulk datagrams; 0: it has none
	piece   pull.Owner // of replyBulk
	exposed Exposed    // a put that the peer pulls: its bytes
	at      int        // bytes sent
	got     int        // bytes that came
	began   int        // of these, the first, at since; of a long pull
	since   time.Time

	run         order.Run // requests that were sent; of replyNak: those that failed
	region      *Region   // that opServe reads from,
	incarnation uint32    // as it was then
	reply       reply     // what opServe sends
	atomic      AtomicKind
	count       int    // elements of an atomic
	buf         []byte // operands of an atomic, or what a fetch answers; kept for reuse
}

// reply is the message that an opServe sends.
type reply uint8

const (
	replyData        reply = iota // data, in pieces, to operation id
	replyDone                     // operation id has ended, with the status in extra
	replyNak                      // requests failed, with the status in extra
	replyDescription              // buf
	replyCopies                   // whether this process copies, in extra
	replyBulk                     // data, as bulk datagrams, and then that it was sent
)

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
	o := i.spare
	if o == nil {
		o = &op{}
	} else {
		i.spare = o.next
		o.next = nil
	}
	o.ep, o.kind, o.done = e, kind, done
	switch kind {
	case opServe:
	case opFill:
		i.owed++
	default:
		e.ops++
		i.owed++
	}
	return o
}

// finish ends an operation that is in no list.
func (e *EP) finish(o *op, err error) {
	i, done := e.iface, o.done
	switch o.kind {
	case opServe:
		e.serves--
		if o.reply == replyNak {
			e.answers.Refused()
		}
	case opFill:
		e.serves--
		i.owed--
		i.endPull(o)
		i.calls.Remove(o.id)
	case opGet, opFetch:
		i.endPull(o)
		if o.id != 0 {
			i.calls.Remove(o.id)
			e.gets--
			e.endRead(o)
		}
		if o.address != 0 && !o.late {
			i.pulls--
		}
		e.ops--
		i.owed--
	case opPut, opAtomic:
		e.ops--
		i.owed--
		e.endBarrier(o)
	}
	if o.err != nil && err == nil {
		err = o.err
	}
	if o.exposed.Key != 0 {
		i.md.Conceal(o.exposed)
	}
	*o = op{next: i.spare, buf: o.buf[:0]}
	i.spare = o
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
		e.violated()
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
