package ofi

import (
	"score/pm/tag"
)

// EndpointOptions are the objects that an endpoint is bound to; each may be nil.
type EndpointOptions struct {
	AV                *AV
	Transmit, Receive *CQ
	// With Selective, operations complete in the queue only if they ask for it, or fail.
	SelectiveTransmit, SelectiveReceive bool
	// Counters of operations.
	Sends, Receives, Writes, Reads *Counter
	// Counters of peers' operations that name this endpoint; what fetches is a read.
	RemoteReads, RemoteWrites *Counter
	// MinMultiReceive is how many bytes a buffer for many messages must have left.
	MinMultiReceive int
}

// Endpoint sends and receives. Its address names it at other ranks.
type Endpoint struct {
	d       *Domain
	o       EndpointOptions
	tag     *tag.Endpoint
	claimed map[uintptr]*tag.Held // by the context of the peek
	under   int                   // sends and one-sided operations under way
	closed  bool
}

// Endpoint makes an endpoint. The error is ErrNoPort. It takes ports in turn: peers may still send
// to one that was closed.
func (d *Domain) Endpoint(o EndpointOptions) (*Endpoint, error) {
	for range d.eps {
		port := d.port
		d.port = (port + 1) % len(d.eps)
		if d.eps[port] != nil {
			continue
		}
		t, err := d.stack.Open(port)
		if err != nil {
			return nil, err
		}
		e := &Endpoint{d: d, o: o, tag: t, claimed: map[uintptr]*tag.Held{}}
		d.eps[port] = e
		e.countReads()
		return e, nil
	}
	return nil, ErrNoPort
}

// Bind changes what the endpoint is bound to, before its first operation.
func (e *Endpoint) Bind(change func(*EndpointOptions)) {
	change(&e.o)
	e.countReads()
}

// countReads has peers leave all reads to this process if the endpoint counts them.
func (e *Endpoint) countReads() {
	if e.o.RemoteReads != nil {
		e.d.counts = true
		e.d.md.SeeReads()
	}
}

// Port is the endpoint's number in its domain, 0 to tag.Ports-1.
func (e *Endpoint) Port() uint8 { return e.tag.Peer().Port }

// Name is the endpoint's address.
func (e *Endpoint) Name() [NameBytes]byte { return e.d.name(e.tag.Peer().Port) }

// Close ends the receives with tag.ErrCanceled.
func (e *Endpoint) Close() error {
	if e.closed {
		return nil
	}
	e.closed = true
	for _, h := range e.claimed {
		e.tag.Discard(h)
	}
	e.d.eps[e.tag.Port()] = nil
	e.tag.Close()
	return nil
}

// transfer is an operation under way. The domain keeps ended ones for reuse.
type transfer struct {
	tag.Op  // first, so that it leads to the transfer
	ep      *Endpoint
	cq      *CQ
	counter *Counter
	flags   Flags // of the completion
	wanted  bool  // a completion without error goes to the queue
	length  uint64
	buffer  []byte // of a put whose bytes the domain keeps
	next    *transfer
}

func (e *Endpoint) newTransfer(context uintptr, flags Flags, cq *CQ, selective bool, asked Flags, counter *Counter) *transfer {
	t := e.d.spare
	if t == nil {
		t = &transfer{}
		t.OnDone = onDone // once for its life
	} else {
		e.d.spare = t.next
	}
	t.ep, t.cq, t.counter, t.Context, t.flags = e, cq, counter, context, flags
	t.wanted = wanted(asked, selective)
	if flags&Received == 0 {
		e.under++
	}
	return t
}

// fenced reports whether an operation has to wait until those before it are complete.
func (e *Endpoint) fenced(asked Flags) bool { return asked&Fence != 0 && e.under > 0 }

// wanted reports whether an operation that succeeds has an entry in its queue.
func wanted(asked Flags, selective bool) bool {
	return asked&Quiet == 0 && (!selective || asked&Completion != 0)
}

// release keeps the transfer for reuse. It clears the references to the program's memory.
func (t *transfer) release() {
	if t.flags&Received == 0 {
		t.ep.under--
	}
	d := t.ep.d
	t.Bytes, t.buffer = nil, t.buffer[:0]
	t.next = d.spare
	d.spare = t
}

// onDone completes a message.
func onDone(o *tag.Op) {
	t := transferOf(o)
	switch {
	case !t.wanted && o.Err == nil:
	case t.flags&Received == 0:
		t.cq.addSent(o.Context, t.flags, uint64(o.Length), Errno(o.Err))
	default:
		if e := t.cq.next(); e != nil {
			t.received(e)
			t.cq.push()
		}
	}
	t.counter.count(o.Err)
	if o.Done() {
		t.release()
	}
}

// received fills the entry of a message that came.
func (t *transfer) received(e *Entry) {
	flags := t.flags
	if t.HasData {
		flags |= RemoteData
	}
	if !t.Last {
		flags &^= MultiReceive
	}
	e.Context, e.Flags, e.Length, e.Buffer = t.Context, flags, uint64(t.Length), pointerTo(t.Bytes)
	e.Data, e.Tag, e.Source, e.Err = t.Data, t.Tag, t.ep.o.AV.address(t.From), Errno(t.Err)
}

// complete completes a one-sided operation.
func (t *transfer) complete(err error) {
	if t.wanted || err != nil {
		t.cq.addSent(t.Context, t.flags, t.length, Errno(err))
	}
	t.counter.count(err)
	t.release()
}

// oneSided is a transfer as the transports see it.
type oneSided transfer

// Complete ends it.
func (o *oneSided) Complete(err error) { (*transfer)(o).complete(err) }
