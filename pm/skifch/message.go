package skifch

import (
	"fmt"
	"score/pm"
)

// Message is what Recv returns: a message in the library's memory, whose tail may still be
// arriving. Its pieces are valid until it is completed.
type Message struct {
	From Address
	Size int // bytes of the whole message
	in   pm.Message

	pieces  [ContSize][]byte
	n       int
	covered int // bytes in the pieces
}

// Available returns how many leading bytes have arrived.
func (m *Message) Available() int { return m.in.Available() }

// Pieces are the leading bytes that have arrived, in order, in at most ContSize pieces; an empty
// message has none. Pieces that were returned before stay valid: bytes that arrived since follow in
// a piece of their own, and at last all of it is in the pieces.
func (m *Message) Pieces() [][]byte {
	there := m.in.Available()
	if there <= m.covered { // also when the sender died: what was returned stays as it is
		return m.pieces[:m.n]
	}
	head := m.in.Head()[:there]
	if m.n == ContSize { // the memory is one piece, so the last piece can grow
		last := m.covered - len(m.pieces[m.n-1])
		m.pieces[m.n-1] = head[last:there:there]
	} else {
		m.pieces[m.n] = head[m.covered:there:there]
		m.n++
	}
	m.covered = there
	return m.pieces[:m.n]
}

// WaitFor waits until the first length bytes have arrived; then Pieces has them. The error is
// pm.ErrPeerGone if the sender died before, and pm.ErrTooLarge if the message has fewer bytes.
func (m *Message) WaitFor(length int) error {
	if length > m.Size {
		return fmt.Errorf("%w: the message has %d bytes", pm.ErrTooLarge, m.Size)
	}
	return m.in.WaitFor(length)
}

// Wait waits until all of the message has arrived. The error is pm.ErrPeerGone if the sender died
// before.
func (m *Message) Wait() error { return m.WaitFor(m.Size) }
