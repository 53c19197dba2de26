package match

import "iter"

// Matcher joins receives and messages. Zero is ready. It must not be copied after its first use,
// and has one caller at a time.
type Matcher struct {
	posted posted
	held   held
}

// Post takes the oldest held message that r matches and returns it; r is then not posted, even if
// it is Multi: its owner posts it again until a Post returns nil. Otherwise Post posts r. It panics
// if r is posted already.
func (m *Matcher) Post(r *Recv) *Message {
	if r.all.list != nil {
		panic("match: the receive is posted already")
	}
	if m.held.list.len > 0 {
		if u := m.Claim(r.Criteria); u != nil {
			return u
		}
	}
	m.posted.post(r)
	return nil
}

// Cancel takes r out and reports whether it was posted here.
func (m *Matcher) Cancel(r *Recv) bool {
	if r.all.list != &m.posted.list {
		return false
	}
	m.posted.remove(r)
	return true
}

// Arrive returns the oldest posted receive that matches a message, nil if there is none. The
// receive is not posted any more unless it is Multi. If Arrive returns nil, its caller holds the
// message before it calls anything else, or drops it.
func (m *Matcher) Arrive(source uint32, tag uint64) *Recv {
	first := m.posted.list.head
	if first == nil {
		return nil
	}
	if r := first.owner; m.posted.passed == nil && !r.Multi && r.matches(source, tag) {
		m.posted.list.removeFirst() // no message has passed it over, so it is in no table
		return r
	}
	r := m.posted.find(source, tag)
	if r != nil && !r.Multi {
		m.posted.remove(r)
	}
	return r
}

// Hold keeps an unexpected message, for which Arrive has just returned nil. It panics if u is held
// already.
func (m *Matcher) Hold(u *Message) {
	if u.all.list != nil {
		panic("match: the message is held already")
	}
	m.held.list.append(&u.all, u)
}

// Peek returns the oldest held message that c takes, nil if there is none. The message stays held.
func (m *Matcher) Peek(c Criteria) *Message { return m.held.find(&c) }

// Claim returns the oldest held message that c takes, nil if there is none. The message is not held
// any more.
func (m *Matcher) Claim(c Criteria) *Message {
	u := m.held.find(&c)
	if u != nil {
		m.held.remove(u)
	}
	return u
}

// Remove takes u out and reports whether it was held here.
func (m *Matcher) Remove(u *Message) bool {
	if u.all.list != &m.held.list {
		return false
	}
	m.held.remove(u)
	return true
}

// AllPosted yields the posted receives, the oldest first. The loop may cancel the receive that it
// was given; it must not change others.
func (m *Matcher) AllPosted() iter.Seq[*Recv] { return m.posted.list.all }

// AllHeld yields the held messages, the oldest first. The loop may remove the message that it was
// given; it must not change others.
func (m *Matcher) AllHeld() iter.Seq[*Message] { return m.held.list.all }
