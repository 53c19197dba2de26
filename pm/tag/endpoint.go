package tag

import (
	"iter"
	"score/pm/tag/match"
	"score/pm/uct"
)

// Endpoint sends and receives at one port. It belongs to the goroutine of its stack.
type Endpoint struct {
	stack  *Stack
	port   uint8
	open   bool
	closed bool // and not opened again: what comes is dropped
	match  matchers
}

// Port returns the endpoint's port.
func (e *Endpoint) Port() int { return int(e.port) }

// Peer names the endpoint at other ranks.
func (e *Endpoint) Peer() Peer { return Peer{Rank: uint32(e.stack.iface.Attr().Rank), Port: e.port} }

// Close ends all receives with ErrCanceled and drops what came for the port, and what comes until
// it is opened again. Sends and fetches that are under way go on.
func (e *Endpoint) Close() {
	if !e.open {
		return
	}
	e.open, e.closed = false, true
	e.endReceives(ErrCanceled, func(*match.Recv) bool { return true })
	for space := range e.match {
		for u := range e.match[space].AllHeld() {
			e.match[space].Remove(u)
			e.stack.drop(heldOf(u))
		}
	}
}

// endReceives ends posted receives. All are taken out before the first ends, since callbacks may
// begin and cancel others.
func (e *Endpoint) endReceives(err error, which func(*match.Recv) bool) {
	var ended []*Op
	for space := range e.match {
		for r := range e.match[space].AllPosted() {
			if which(r) {
				e.match[space].Cancel(r)
				ended = append(ended, opOf(r))
			}
		}
	}
	for _, o := range ended {
		o.unposted(err)
	}
}

// unposted ends a receive that was taken out of the posted ones.
func (o *Op) unposted(err error) {
	if o.many && o.pending > 0 {
		o.detached = true // the last fetch ends it
		return
	}
	if !o.many {
		o.Result = Result{}
	}
	o.Last = true
	o.finish(err)
}

// Cancel ends a receive that no message has matched yet with ErrCanceled, and reports whether it
// did. Sends cannot be canceled.
func (e *Endpoint) Cancel(o *Op) bool {
	if o.state != posted || o.ep != e || !e.match[o.space].Cancel(&o.recv) {
		return false
	}
	o.unposted(ErrCanceled)
	return true
}

// onGone ends the receives that take messages of the lost rank alone, and drops its offers, whose
// bytes cannot be fetched any more. Eager messages that came before stay.
func (e *Endpoint) onGone(rank uint32, err error) {
	for space := range e.match {
		m := &e.match[space]
		for u := range m.AllHeld() {
			if h := heldOf(u); h.offer && h.From.Rank == rank {
				m.Remove(u)
				e.stack.recycleHeld(h)
			}
		}
	}
	e.endReceives(err, func(r *match.Recv) bool { return r.Source != match.AnySource && r.Source&rankMask == rank })
}

const rankMask = 1<<24 - 1

// Iface is the interface below.
func (e *Endpoint) Iface() *uct.Iface { return e.stack.iface }

// Posted yields the receives that wait for a message, the oldest first. The loop may cancel the one
// that it was given.
func (e *Endpoint) Posted() iter.Seq[*Op] {
	return func(yield func(*Op) bool) {
		for space := range e.match {
			for r := range e.match[space].AllPosted() {
				if !yield(opOf(r)) {
					return
				}
			}
		}
	}
}
