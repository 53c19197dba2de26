package direct

import (
	"encoding/binary"
	"errors"
	"score/nodeagent/steward/reliable"
)

// Packet is the content of a datagram.
type Packet struct {
	reliable.Header
	// Received is the number of the receiver's datagrams that have arrived at the sender.
	Received uint64
	// Collective marks a message of a fence; all others are the PMI engine's.
	Collective bool
	// Data is the message, if the header has a number.
	Data []byte
}

// ErrPacket means that data is no packet.
var ErrPacket = errors.New("this is no packet")

// Flags of a packet. Its form is
//
//	packet := flags received stream number least ackStream ack data
//
// with LEB128 numbers.
const (
	flagCollective = 1 << iota
	flagPause
	knownFlags = flagCollective | flagPause
)

func (p *Packet) append(dst []byte) []byte {
	flags := byte(0)
	if p.Collective {
		flags |= flagCollective
	}
	if p.Pause {
		flags |= flagPause
	}
	dst = append(dst, flags)
	for _, n := range [...]uint64{p.Received, p.Stream, p.Number, p.Least, p.AckStream, p.Ack} {
		dst = binary.AppendUvarint(dst, n)
	}
	return append(dst, p.Data...)
}

// parse reads a packet. Its data is a part of text, not a copy.
func parse(text []byte) (p Packet, err error) {
	if len(text) == 0 || text[0]&^knownFlags != 0 {
		return Packet{}, ErrPacket
	}
	p.Collective, p.Pause = text[0]&flagCollective != 0, text[0]&flagPause != 0
	text = text[1:]
	for _, n := range [...]*uint64{&p.Received, &p.Stream, &p.Number, &p.Least, &p.AckStream, &p.Ack} {
		value, width := binary.Uvarint(text)
		if width <= 0 {
			return Packet{}, ErrPacket
		}
		*n, text = value, text[width:]
	}
	p.Data = text
	return p, nil
}
