package channels

import (
	"fmt"
	"score/channels/abi"
	"sync/atomic"
)

const (
	// burst bounds the messages in a row from one sender while others wait.
	burst = 16
	// idleEvery is how many empty polls share one call of idle, so that the others only make the
	// loads that find a message.
	idleEvery = 16
	// maxTurns bounds the searches in a row that find only senders that change rings: each opens or
	// leaves a lane, and there are few.
	maxTurns = 2 * abi.MaxLanes
)

// Inbox is the receiving side of a context. One goroutine of the owning process uses it.
type Inbox struct {
	img        *Image
	maxMessage uint64    // longest message
	rings      []*reader // those to poll: shared ring, network lane, opened lanes
	hot        *reader   // where the last message was, and where the next poll begins
	at         int       // its place
	turnAt     uint64    // taken, from which on others' turn comes
	overlap    bool
	taken      uint64 // messages
	bytes      uint64
	shown      uint64  // taken, as last published
	gone       uint32  // Status.Gone as last seen
	reported   []bool  // by local index: death was reported
	stuck      bool    // a record is unfinished
	emptyPolls uint32  // empty polls since the last message
	waiters    *uint64 // not zero if senders sleep until there is space
	freed      uint64  // lines given back since senders were last woken
	wake       func(rank uint32)
	lanes      laneKeeper
	turned     bool // a sender changed rings since the last search began
	turns      int  // searches in a row that were repeated for that
	damage     error
	closed     bool
}

// Inbox opens the inbox of this image. wake is called with each rank that
// sleeps until there is space in it; it may be nil if none ever does.
func (img *Image) Inbox(wake func(rank uint32)) (*Inbox, error) {
	return img.InboxWithin(nil, wake, nil)
}

// InboxWithin is Inbox, with a limit for the memory of lanes. askLane is called with each rank
// whose lane is asked back, and should pass that on with AskLanes of the rank's own context. It may
// be nil: then the rank sees it when it looks at Sender.Recalled by itself.
func (img *Image) InboxWithin(memory *LaneMemory, wake, askLane func(rank uint32)) (*Inbox, error) {
	l := &img.layout
	in := &Inbox{
		turnAt: burst, img: img, maxMessage: uint64(l.MaxMessage), overlap: true,
		wake: wake, waiters: img.waiterAny(), reported: make([]bool, len(img.local)),
	}
	shared := newReader(img.mem.ring(l.SharedRing, l.SharedBytes), img.mem.u64(l.SharedControl), 0, l.Ranks)
	shared.shared = true
	in.rings = append(make([]*reader, 0, l.Lanes+1), shared)
	in.hot = shared
	if l.Ranks > l.LocalRanks {
		// Of the rest Delivery allocates what it needs.
		if err := img.ensure(l.NetRing, abi.LineBytes); err != nil {
			return nil, err
		}
		network := newReader(img.mem.ring(l.NetRing, l.NetBytes), img.mem.u64(l.Lane(0)), 0, l.Ranks)
		in.rings = append(in.rings, network)
	}
	in.openLanes(memory, askLane)
	return in, nil
}

// SetOverlap chooses whether Poll returns messages whose tail is still being
// written. It does at first.
func (in *Inbox) SetOverlap(on bool) { in.overlap = on }

// Poll takes the next message, if there is one. Messages of one sender come in
// order.
func (in *Inbox) Poll() (Message, bool) {
	r := in.hot
	word := atomic.LoadUint64(r.next)
	if word == 0 || uint8(word>>24) != abi.KindData || in.taken == in.turnAt || !in.plausible(r, word) {
		return in.search()
	}
	return in.deliver(r, word), true
}

// More reports whether there is something behind the message that Poll returned last.
func (in *Inbox) More() bool { return atomic.LoadUint64(in.hot.next) != 0 }

// Empty is an empty Poll that finds out sooner: false if there is something, or if other things
// than messages are due.
func (in *Inbox) Empty() bool {
	if in.emptyPolls%idleEvery == 0 {
		return false
	}
	for _, r := range in.rings {
		if atomic.LoadUint64(r.next) != 0 {
			return false
		}
	}
	in.emptyPolls++
	return true
}

// search polls all rings, beginning with the one after the last.
func (in *Inbox) search() (Message, bool) {
	at := in.at
	for range in.rings {
		if at++; at >= len(in.rings) {
			at = 0
		}
		r := in.rings[at]
		if word := atomic.LoadUint64(r.next); word != 0 {
			in.turnTo(at)
			if m, ok := in.take(r, word); ok {
				return m, true
			}
		}
	}
	if in.turned {
		return in.searchMore()
	}
	if in.emptyPolls++; in.Due() {
		in.idle()
	}
	return Message{}, false
}

// turnTo makes the next polls begin with a ring.
func (in *Inbox) turnTo(at int) {
	in.at, in.hot, in.turnAt = at, in.rings[at], in.taken+burst
}

// searchMore searches again after senders changed rings: their next messages may lie in a ring that
// was passed before, and a rank must not go to sleep over them. For a hostile sender that changes
// rings without end, it soon stops.
func (in *Inbox) searchMore() (Message, bool) {
	in.turned = false
	if in.turns++; in.turns <= maxTurns {
		m, ok := in.search()
		in.turns = 0
		return m, ok
	}
	return Message{}, false
}

// Due reports whether the owner should check for other things than messages after this empty Poll:
// the first after a message, and then every idleEvery.
func (in *Inbox) Due() bool { return in.emptyPolls%idleEvery == 1 }

// ResetIdle makes the next empty Poll a due one.
func (in *Inbox) ResetIdle() { in.emptyPolls = 0 }

// take takes the record at the reader's cursor, whose commit word is word.
func (in *Inbox) take(r *reader, word uint64) (Message, bool) {
	if uint8(word>>24) != abi.KindData {
		return in.takeOther(r, word)
	}
	if !in.plausible(r, word) {
		return in.stopReading(r, word)
	}
	return in.deliver(r, word), true
}

// plausible reports whether the word of a message makes sense at the cursor.
func (in *Inbox) plausible(r *reader, word uint64) bool {
	length := word & abi.MaxLength
	return length <= in.maxMessage && abi.Lines(int(length)) <= r.left(r.cursor) && uint32(word>>32)-r.writer < r.writers
}

// deliver makes the message at the cursor the caller's.
func (in *Inbox) deliver(r *reader, word uint64) Message {
	m := Message{from: r, pos: r.cursor, word: word}
	r.pass(m.lines())
	in.count(m.Len())
	return m
}

// count counts a message of the length.
func (in *Inbox) count(length int) {
	in.emptyPolls = 0
	in.taken++
	in.bytes += uint64(length)
	if in.taken-in.shown >= abi.PublishEvery {
		in.show()
	}
}

// takeOther deals with everything but whole messages.
func (in *Inbox) takeOther(r *reader, word uint64) (Message, bool) {
	length, kind, rank := abi.Uncommit(word)
	if r.shared && kind != abi.KindGrowing && in.img.sharedPos() == r.cursor&posMask {
		return Message{}, false // still being reserved: it does not exist
	}
	switch kind {
	case abi.KindGrowing:
		if !in.plausible(r, word) {
			return in.stopReading(r, word)
		}
		return in.takeGrowing(r, word)
	case abi.KindPad:
		r.drop(r.left(r.cursor))
		if next := atomic.LoadUint64(r.next); next != 0 && !isPad(next) {
			return in.take(r, next)
		}
		return Message{}, false
	case abi.KindLane:
		return in.followLane(r, rank, word)
	case abi.KindLaneEnd:
		return in.leaveLane(r, rank, word)
	case abi.KindReserved:
		if !r.shared || !in.plausible(r, word) {
			return in.stopReading(r, word)
		}
		if in.writerLost(r, rank) {
			in.discard(r, length)
		}
		return Message{}, false
	default:
		return in.stopReading(r, word)
	}
}

// isPad lets a search pass one pad only, so that a hostile ring full of pads cannot hold the
// reader.
func isPad(word uint64) bool {
	_, kind, _ := abi.Uncommit(word)
	return kind == abi.KindPad
}

// stopReading stops reading a ring that says impossible things.
func (in *Inbox) stopReading(r *reader, word uint64) (Message, bool) {
	in.img.count(abi.Damaged, 1)
	in.damage = fmt.Errorf("%w: record %#x in a ring that rank %d writes", ErrDamaged, word, r.writer)
	r.next = new(uint64)
	return Message{}, false
}

// Release gives a message's memory back, in any order. A message whose
// tail is still being written cannot be given back: Release then returns
// ErrFull, and succeeds once the tail is there or its writer is dead. ErrNotReserved
// means that it was given back before.
func (in *Inbox) Release(m Message) error {
	if m.from == nil {
		return ErrNotReserved
	}
	if m.growing() && m.Available() < m.Len() && m.from.holds(m.pos) && !in.lost(m) {
		return ErrFull
	}
	if !m.from.holds(m.pos) {
		return ErrNotReserved
	}
	in.free(m.from, m.pos, m.lines())
	return nil
}

// free gives back n lines at a position that was handed out.
func (in *Inbox) free(r *reader, pos, n uint64) {
	if pos == r.head && r.head+n == r.cursor { // nothing else is out
		r.head = r.cursor
		publish(r.headWord, r.head)
	} else {
		r.giveBack(pos, n)
	}
	in.freed += n
	if atomic.LoadUint64(in.waiters) != 0 {
		in.wakeSome()
	}
}

// sharedPos is the position of the shared ring's tail.
func (img *Image) sharedPos() uint64 {
	return atomic.LoadUint64(img.mem.u64(img.layout.SharedControl+abi.SharedTailAt)) >> tailShift
}
