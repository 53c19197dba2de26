package match

import "math/bits"

// Message is an unexpected message. Its owner sets Source and Tag, embeds it where the message's
// data is known, and leaves it alone while it is held. Zero is ready, and so is one that was held
// and is not any more.
type Message struct {
	Tag     uint64
	Source  uint32
	indexed uint8 // a bit for each class in which it is
	all     element[Message]
	keys    [heldClasses]link[Message] // by class
}

// heldClasses bounds the classes in which a message can be: each costs a message 48 bytes, and
// programs use about six (see postedClasses). A search of a further class starts at the oldest
// message each time.
const heldClasses = 6

const _ uint8 = 1 << (heldClasses - 1) // each has a bit in Message.indexed

// held holds the unexpected messages.
//
// In each class i the messages up to passed[i], and no others, are indexed.
type held struct {
	list    list[Message]
	classes classes[Message]
	passed  [heldClasses]*element[Message] // the last one that a search has passed over; nil if none
}

// find returns the oldest message that c takes, nil if there is none.
func (h *held) find(c *Criteria) *Message {
	if h.list.len == 0 {
		return nil
	}
	i := h.classes.of(c, heldClasses)
	if i == none {
		return h.scan(c)
	}
	if u := h.classes[i].oldest(c.Source, c.Tag); u != nil {
		return u
	}
	for e := h.list.after(h.passed[i]); e != nil; e = e.next {
		u := e.owner
		if c.matches(u.Source, u.Tag) {
			return u
		}
		h.index(i, u)
	}
	return nil
}

// scan is find without a class.
func (h *held) scan(c *Criteria) *Message {
	for e := h.list.head; e != nil; e = e.next {
		if c.matches(e.owner.Source, e.owner.Tag) {
			return e.owner
		}
	}
	return nil
}

// index enters u, the first one that is not indexed in class i, there.
func (h *held) index(i int, u *Message) {
	h.passed[i] = &u.all
	u.indexed |= 1 << i
	h.classes[i].add(&u.keys[i], u, u.Source, u.Tag)
}

// remove takes u, which is held, out.
func (h *held) remove(u *Message) {
	for ; u.indexed != 0; u.indexed &= u.indexed - 1 {
		i := bits.TrailingZeros8(u.indexed)
		if h.passed[i] == &u.all {
			h.passed[i] = u.all.prev
		}
		h.classes[i].remove(&u.keys[i])
	}
	h.list.remove(&u.all)
}
