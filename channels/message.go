package channels

import (
	"sync/atomic"
)

// Message is a received message, in place. It is valid until it is given back.
type Message struct {
	Rank    uint32 // the sender
	growing bool
	data    []byte
	from    *reader
	pos     uint64
}

// Len is the message's length in bytes, also while its tail is being written.
func (m *Message) Len() int { return len(m.data) }

// Available is how many leading bytes are there.
func (m *Message) Available() int {
	if !m.growing {
		return len(m.data)
	}
	there := min(int(atomic.LoadUint32(m.from.progress(m.pos))), len(m.data))
	if there == len(m.data) {
		m.growing = false
	}
	return there
}

// Head are the bytes that are there.
func (m *Message) Head() []byte { return m.data[:m.Available()] }
