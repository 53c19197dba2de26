package channels

import (
	"score/channels/abi"
	"sync/atomic"
)

// Message is a received message, in place. It is valid until it is given back.
// It has three words, since the compiler keeps at most four in registers.
type Message struct {
	from *reader
	pos  uint64
	word uint64 // commit word, as checked
}

// Rank returns the sender's rank.
func (m Message) Rank() uint32 { return uint32(m.word >> 32) }

// Len is the message's length in bytes, also while its tail is being written.
func (m Message) Len() int { return int(m.word & abi.MaxLength) }

func (m Message) growing() bool { return uint8(m.word>>24) == abi.KindGrowing }

// Available returns how many leading bytes are there.
func (m Message) Available() int {
	if !m.growing() {
		return m.Len()
	}
	there := m.progress()
	if there == abi.ProgressLost {
		return 0
	}
	return min(int(there), m.Len())
}

func (m Message) progress() uint32 { return atomic.LoadUint32(m.from.progress(m.pos)) }

// Whole are the bytes of a message that has come whole; nil if it is still being written.
func (m Message) Whole() []byte {
	if m.growing() {
		return nil
	}
	return m.from.bytes(m.pos, m.Len())
}

// Head are the bytes that are there.
func (m Message) Head() []byte {
	switch {
	case m.from == nil:
		return nil
	case !m.growing():
		return m.from.bytes(m.pos, m.Len())
	default:
		return m.from.bytes(m.pos, m.Available())
	}
}

// lines is what the message takes in its ring.
func (m Message) lines() uint64 { return abi.Lines(m.Len()) }
