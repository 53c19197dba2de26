package uct

import "time"

// lingerTimeout is how long this rank waits for the last messages of a peer on another node after
// the notice that it closed: agents resend them for that long, and it covers a few slices of other
// gangs.
const lingerTimeout = time.Second

// lose records that nothing more can be sent to the peer. Its last messages may wait in the inbox,
// so operations end in a later call of Progress that finds the inbox empty.
func (e *EP) lose(err error) {
	if e.failed != nil {
		return
	}
	e.failed = err
	if !e.local {
		e.since = time.Now()
	}
	e.iface.lost = append(e.iface.lost, e)
}

// fail is lose for a peer from which nothing more is received: everything came, or it cannot be
// trusted. No operation ends within the call, so callers find theirs unchanged.
func (e *EP) fail(err error) {
	e.lose(err)
	e.inboundClosed = true
}

// arriving reports whether messages of a lost peer may still come. One on another node that closed
// its channel says so by a datagram, which may overtake its last messages.
func (e *EP) arriving() bool { return !e.local && time.Since(e.since) < lingerTimeout }

// end completes everything under way with the reason why the peer was lost.
func (e *EP) end() {
	if e.ended {
		return
	}
	e.ended, e.inboundClosed = true, true
	err := e.failed
	for e.replies.len() > 0 {
		e.finishReply(e.replies.pop())
	}
	e.cancel(&e.out, err)
	e.cancel(&e.unacked, err)
	e.iface.calls.Each(func(o *op) {
		if o.ep == e {
			e.finish(o, err)
		}
	})
	for e.pending.len() > 0 {
		_ = e.pending.pop().Retry() // it returns the EP's error to its owner
	}
	e.replies, e.pending = queue[*reply]{}, queue[Pending]{}
	if f := e.iface.onGone; f != nil {
		f(e, err)
	}
}

// Violated ends the exchange with a peer that broke the protocol, here or in a layer above.
func (e *EP) Violated() {
	if e.failed == nil {
		e.iface.counts.GivenUp++
	}
	e.fail(ErrPeer)
}
