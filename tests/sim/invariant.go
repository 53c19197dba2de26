package sim

import (
	"fmt"
	"time"
)

// Invariant is something that holds after every step.
type Invariant string

// The invariants.
const (
	// Once: exactly once and in order per (sender, receiver, channel).
	Once Invariant = "exactly once, in order"
	// Apart: nothing crosses jobs, channels or ranks.
	Apart Invariant = "nothing crosses jobs"
	// Bounded: no buffer holds more than it may, and no more than a window is in
	// flight.
	Bounded Invariant = "buffers are bounded"
	// Delivery: once faults have stopped, everything is delivered and acknowledged within
	// SettleBound, or the end is notified that its peer is gone.
	Delivery Invariant = "delivered or told"
	// Quiet: flushed means that nothing is in flight. On paths that do not keep
	// order, what was overtaken may be.
	Quiet Invariant = "flushed means nothing in flight"
	// Resident: a context that is not resident accepts nothing.
	Resident Invariant = "only a resident context accepts"
	// Alive: no live peer is taken for gone.
	Alive Invariant = "no live peer is taken for gone"
	// Whole: what is received is, byte for byte, what was sent, and nothing that the
	// drivers left in an image contradicts itself.
	Whole Invariant = "messages are whole"
	// Clean: nothing is in flight of a context that left its channel with all answered. On paths
	// that do not keep order, what was overtaken may be.
	Clean Invariant = "nothing in flight of who left clean"
	// Gang: a gang is resident and runs on all its nodes within the skew of their clocks and the
	// time of a switch, or on none; nodes apart that were just disturbed.
	Gang Invariant = "a gang whole, or not at all"
	// Right: each operation of a transport ends once, and all bytes and sums are right.
	Right Invariant = "operations end once, with the right bytes"
	// Freed: in the end nothing is kept.
	Freed Invariant = "buffers are given back"
)

// Violation is an invariant that does not hold.
type Violation struct {
	Invariant Invariant
	At        time.Duration // since the world began
	What      string
}

func (v *Violation) Error() string {
	return fmt.Sprintf("%s: at %v: %s", v.Invariant, v.At, v.What)
}

// fail notes the first violation.
func (w *world) fail(i Invariant, format string, args ...any) {
	if w.res.Err == nil {
		w.res.Err = &Violation{Invariant: i, At: time.Duration(w.now - start), What: fmt.Sprintf(format, args...)}
	}
}

// received checks a message that a process received.
func (w *world) received(e *end, payload Payload) {
	if e.harmless() {
		return
	}
	m := payload.Message()
	if m.Job != e.spec.Job || m.Channel != e.spec.Channel || m.To != e.spec.Rank || m.From >= e.spec.Ranks {
		w.fail(Apart, "%v received %+v", e, m)
		return
	}
	if want := e.got[m.From]; m.Index != want {
		w.fail(Once, "%v received message %d of rank %d, want %d", e, m.Index, m.From, want)
		return
	}
	e.got[m.From]++
	w.res.Delivered++
	if e.transport != nil {
		e.transport.onMessage(m.From, m.Index)
	}
	if !w.peer(e, m.From).dead {
		w.missing--
	}
}

// check checks an end after something happened to it. What happens to one end
// changes no other, so all ends are checked after every step.
func (w *world) check(e *end) {
	if e.ruined {
		return
	}
	u := e.ctx.Usage()
	e.usage = u
	if e.harmless() {
		return
	}
	if u.Send > e.spec.SendCap || u.Inbox > e.spec.InboxCap || u.InFlight > int(e.spec.Flow.MaxWindow) {
		w.fail(Bounded, "%v: %d to send of %d, %d in the inbox of %d, %d in flight of %d",
			e, u.Send, e.spec.SendCap, u.Inbox, e.spec.InboxCap, u.InFlight, e.spec.Flow.MaxWindow)
	}
	if u.Fault != nil {
		w.fail(Whole, "%v: %v", e, u.Fault)
	}
	if e.away && u.Accepted != e.entered {
		w.fail(Resident, "%v accepted %d messages while it was away", e, u.Accepted-e.entered)
	}
	if e.shared != nil {
		w.checkLeft(e)
	}
	for to := range e.spec.Ranks {
		if e.ctx.Lost(to) && !w.peer(e, to).gone() {
			w.fail(Alive, "%v takes rank %d for gone", e, to)
		}
		if e.ctx.Flushed(to) {
			w.checkQuiet(e, to)
		}
	}
}

// checkQuiet checks that nothing is in flight from e to a rank.
func (w *world) checkQuiet(e *end, to uint16) {
	if w.res.Driven && w.peer(e, to).gone() {
		return // its end is known before what was sent to it arrives at nobody
	}
	if id, ok := w.flying(e, to); ok {
		t := &e.tracks[to]
		w.fail(Quiet, "%v is flushed to rank %d, and frame %d of %d is in flight (newest that arrived: %d)", e, to, id, t.made, t.newest)
	}
}

// flying returns a frame that is in flight from e to a rank and that no answer can have overtaken.
func (w *world) flying(e *end, to uint16) (id uint32, ok bool) {
	t := &e.tracks[to]
	for _, id := range t.flying {
		if w.ordered || id > t.newest {
			return id, true
		}
	}
	return 0, false
}
