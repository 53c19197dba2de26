// Package wire frames the messages between an agent and a steward: the length as a varint, then the
// protobuf encoding. It does no I/O: Append writes into the caller's buffer, Decoder takes bytes as
// they come.
//
//	frame, err := wire.Append(nil, &stewardpb.ToSteward{...})
//	n, err := conn.Read(decoder.Space())
//	decoder.Filled(n)
//	for { body, err := decoder.Next(); if body == nil { break }; ... }
package wire

import (
	"encoding/binary"
	"errors"
	"fmt"

	"google.golang.org/protobuf/proto"
)

// Protocol is the version of the messages between agents and stewards. An agent adopts a steward of
// another agent only if the number is the same, whatever the versions of the two programs.
const Protocol = 2

const (
	// MaxMessage bounds one message, in bytes: the fence data of a job's 4,096
	// ranks with 16 KiB each fits.
	MaxMessage = 64 << 20
	// readSize is the least room a decoder offers, in bytes: one frame of output
	// and its head in one read.
	readSize = 65 << 10
	// KeepSize is the largest buffer kept once it is empty, in bytes, so that one
	// large message does not take memory for ever.
	KeepSize = 128 << 10
)

// ErrTooLong means that the other side announced a message beyond MaxMessage.
var ErrTooLong = errors.New("message is too long")

// Append appends the frame of m to b.
func Append(b []byte, m proto.Message) ([]byte, error) {
	size := proto.Size(m)
	if size > MaxMessage {
		return b, fmt.Errorf("%w: %d bytes, at most %d", ErrTooLong, size, MaxMessage)
	}
	b = binary.AppendUvarint(b, uint64(size))
	return proto.MarshalOptions{UseCachedSize: true}.MarshalAppend(b, m)
}

// Decoder cuts a byte stream into message bodies. The zero value is ready.
type Decoder struct {
	buffer     []byte
	head, tail int // the part of the buffer that was read but not returned yet
}

// Space returns the memory for the next bytes of the stream.
func (d *Decoder) Space() []byte {
	if d.head == d.tail {
		d.head, d.tail = 0, 0
		if len(d.buffer) > KeepSize {
			d.buffer = nil
		}
	}
	if len(d.buffer)-d.tail >= readSize {
		return d.buffer[d.tail:]
	}
	// Grow by doubling what has arrived, never to the announced size.
	size := d.tail - d.head
	larger := d.buffer
	if len(d.buffer) < 2*size+readSize {
		larger = make([]byte, 2*size+readSize)
	}
	copy(larger, d.buffer[d.head:d.tail])
	d.buffer, d.head, d.tail = larger, 0, size
	return d.buffer[d.tail:]
}

// Filled records that n bytes were read into Space.
func (d *Decoder) Filled(n int) { d.tail += n }

// Next returns the next whole message body, or nil when more bytes are needed.
// It is valid until the next call of Space.
func (d *Decoder) Next() ([]byte, error) {
	waiting := d.buffer[d.head:d.tail]
	size, width := binary.Uvarint(waiting)
	if width < 0 || size > MaxMessage {
		return nil, fmt.Errorf("%w: at most %d bytes", ErrTooLong, MaxMessage)
	}
	if width == 0 || uint64(len(waiting)-width) < size {
		return nil, nil
	}
	d.head += width + int(size)
	end := width + int(size)
	return waiting[width:end:end], nil
}
