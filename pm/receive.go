package pm

import (
	"fmt"
	"score/channels"
)

// Message is a received message, in the library's memory. It is valid until
// it is given back with ReleaseReceiveBuffer.
type Message struct {
	in channels.Message
	c  *Channel
}

// Source is the sender's rank.
func (m Message) Source() int { return int(m.in.Rank()) }

// Len is the length in bytes, also while the tail is still arriving.
func (m Message) Len() int { return m.in.Len() }

// Available returns how many leading bytes have arrived.
func (m Message) Available() int { return m.in.Available() }

// Whole are the bytes of a message that has arrived whole; nil of others.
func (m Message) Whole() []byte { return m.in.Whole() }

// Head are the bytes that have arrived.
func (m Message) Head() []byte { return m.in.Head() }

// Bytes are all bytes of the message; it waits for the tail. The error is
// ErrPeerGone if the sender died while it was writing.
func (m Message) Bytes() ([]byte, error) {
	if err := m.WaitFor(m.Len()); err != nil {
		return nil, err
	}
	return m.in.Head(), nil
}

// WaitFor waits until length bytes have arrived. The error is ErrPeerGone if the sender died
// before.
func (m Message) WaitFor(length int) error {
	if m.in.Available() >= length {
		return nil
	}
	p := pauser{spin: m.c.spin}
	for m.in.Available() < length {
		if length > m.Len() {
			return fmt.Errorf("%w: the message has %d bytes", ErrTooLarge, m.Len())
		}
		if m.c.in.Lost(m.in) {
			return &PeerGoneError{Rank: m.Source()}
		}
		if !m.c.progress() {
			p.pause()
		}
	}
	return nil
}

// CopyTo copies the message while it arrives, as much of it as dst has room for, and
// returns how much that was.
func (m Message) CopyTo(dst []byte) (int, error) {
	if m.Available() == m.Len() {
		return copy(dst, m.in.Head()), nil
	}
	dst = dst[:min(len(dst), m.Len())]
	for done := 0; done < len(dst); {
		there := min(m.in.Available(), len(dst))
		if there == done {
			if err := m.WaitFor(done + 1); err != nil {
				return done, err
			}
			continue
		}
		copy(dst[done:there], m.in.Head()[done:there])
		done = there
	}
	return len(dst), nil
}

// Poll reports whether Receive has something to return.
func (c *Channel) Poll() bool {
	if c.hasAhead || c.closed {
		return true
	}
	if m, ok := c.poll(); ok {
		c.ahead, c.hasAhead = m, true
		return true
	}
	return c.pendingError()
}

// More reports whether another message follows where the last one was. It is the cheapest poll, and
// ignores messages elsewhere.
func (c *Channel) More() bool { return c.hasAhead || c.in.More() }

// Empty reports whether Receive would return ErrEmpty, if that is known at once. It is the cheapest
// poll of a rank that waits.
func (c *Channel) Empty() bool {
	return c.net == nil && !c.hasAhead && !c.closed && len(c.gone) == 0 && c.in.Empty()
}

// Receive returns the next message, or ErrEmpty. Messages of one sender come in
// the order in which they were sent.
//
// ErrPeerGone reports once for each rank that it died (for a rank on another node, if messages were
// exchanged with it), after all its messages; the channel goes on without it. ErrFlow reports a
// rank that uses another flow control in the same way. ErrDamaged means that a peer wrote nonsense.
func (c *Channel) Receive() (Message, error) {
	if c.hasAhead {
		c.hasAhead = false
		return Message{c.ahead, c}, nil
	}
	if c.closed {
		return Message{}, ErrClosed
	}
	if m, ok := c.poll(); ok {
		return Message{m, c}, nil
	}
	if !c.in.Due() && len(c.gone) == 0 {
		return Message{}, ErrEmpty
	}
	return c.receiveLast()
}

// receiveLast is Receive after a poll that found nothing, when there may be an error. A rank may
// have sent its last message and died since that poll, so the inbox is polled once more.
func (c *Channel) receiveLast() (Message, error) {
	if !c.pendingError() {
		return Message{}, ErrEmpty
	}
	if m, ok := c.poll(); ok {
		return Message{m, c}, nil
	}
	return Message{}, c.takeError()
}

// Each calls f with up to limit messages that came whole and follow the last one received, gives
// each back when f returns, and returns their number. It is faster than Receive, which returns the
// messages that Each leaves.
func (c *Channel) Each(limit int, f func(rank int, data []byte)) int {
	if c.hasAhead || c.closed {
		return 0
	}
	n := c.in.Each(limit, f)
	if c.net != nil && !c.closed {
		if c.net.taken += n; c.net.taken >= attendEvery {
			c.drive(1)
		}
	}
	return n
}

// pendingError reports whether Receive has an error to return when there is no message.
func (c *Channel) pendingError() bool {
	if !c.in.Due() {
		return len(c.gone) > 0
	}
	if c.tally.Sent != c.tally.Shown() {
		c.showTally()
	}
	c.showStackRarely()
	if c.img.LanesAsked() != c.lanesAsked {
		c.returnLanes()
	}
	if len(c.gone) > 0 {
		return true
	}
	if rank, ok := c.in.Gone(); ok {
		c.gone = append(c.gone, &PeerGoneError{Rank: int(rank)})
		return true
	}
	if c.net != nil {
		if rank, ok := c.net.driver.Gone(); ok {
			c.gone = append(c.gone, c.sendError(c.net.driver.Cause(rank), int(rank)))
			return true
		}
	}
	return c.in.Damage() != nil
}

// takeError returns the error that pendingError has found.
func (c *Channel) takeError() error {
	if len(c.gone) > 0 {
		err := c.gone[0]
		c.gone = c.gone[1:]
		return err
	}
	return fmt.Errorf("%w: %w", ErrDamaged, c.in.TakeDamage())
}

// ReleaseReceiveBuffer gives a message's memory back, in any order. It waits if the tail
// is still being written. The error is ErrNoBuffer if it was given back before.
func (c *Channel) ReleaseReceiveBuffer(m Message) error {
	if c.closed {
		return ErrClosed
	}
	err := c.in.Release(m.in)
	if err == nil {
		return nil
	}
	return c.releaseSlow(m, err)
}

func (c *Channel) releaseSlow(m Message, err error) error {
	p := pauser{spin: c.spin}
	for ; err == channels.ErrFull; err = c.in.Release(m.in) { //nolint:errorlint // Release returns this very value
		if !c.progress() {
			p.pause()
		}
	}
	if err != nil {
		return ErrNoBuffer
	}
	return nil
}
