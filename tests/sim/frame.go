package sim

import (
	"encoding/binary"
	"hash/crc32"
	"score/flowctl"
)

// FrameKind says what a frame is.
type FrameKind uint8

// The kinds of frames.
const (
	FrameData   FrameKind = iota // a message, with an answer on its back
	FrameAsk                     // a header alone, with an answer on its back
	FrameAnswer                  // an answer alone
	frameKinds
)

// Frame is the simulator's own frame around the protocol's messages.
type Frame struct {
	Kind         FrameKind
	Job, Channel uint16
	From, To     uint16 // ranks
	Data         flowctl.Data
	Answer       flowctl.Answer
	Payload      Payload
}

// FrameSize is the size of an encoded frame.
const FrameSize = 52

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Encode writes the frame and its CRC-32C.
func (f *Frame) Encode(b *[FrameSize]byte) {
	b[0], b[1], b[2], b[3] = byte(f.Kind), byte(f.Data.Mark), byte(f.Answer.Kind), 0
	le := binary.LittleEndian
	le.PutUint16(b[4:], f.Job)
	le.PutUint16(b[6:], f.Channel)
	le.PutUint16(b[8:], f.From)
	le.PutUint16(b[10:], f.To)
	le.PutUint32(b[12:], uint32(f.Data.Seq))
	le.PutUint32(b[16:], uint32(f.Data.Tx))
	le.PutUint32(b[20:], uint32(f.Answer.Next))
	le.PutUint32(b[24:], uint32(f.Answer.Echo))
	le.PutUint16(b[28:], f.Answer.Room)
	le.PutUint16(b[30:], 0)
	copy(b[32:48], f.Payload[:])
	le.PutUint32(b[48:], crc32.Checksum(b[:48], castagnoli))
}

// Decode reads a frame, and returns false if it is not one.
func (f *Frame) Decode(b []byte) bool {
	le := binary.LittleEndian
	if len(b) != FrameSize || le.Uint32(b[48:]) != crc32.Checksum(b[:48], castagnoli) {
		return false
	}
	if FrameKind(b[0]) >= frameKinds || flowctl.Kind(b[2]) > flowctl.Ready {
		return false
	}
	*f = Frame{
		Kind: FrameKind(b[0]),
		Job:  le.Uint16(b[4:]), Channel: le.Uint16(b[6:]),
		From: le.Uint16(b[8:]), To: le.Uint16(b[10:]),
		Data: flowctl.Data{Seq: flowctl.Seq(le.Uint32(b[12:])), Tx: flowctl.Tx(le.Uint32(b[16:])), Mark: flowctl.Mark(b[1])},
		Answer: flowctl.Answer{
			Kind: flowctl.Kind(b[2]), Room: le.Uint16(b[28:]),
			Next: flowctl.Seq(le.Uint32(b[20:])), Echo: flowctl.Tx(le.Uint32(b[24:])),
		},
		Payload: Payload(b[32:48]),
	}
	return true
}
