package uct

import (
	"encoding/binary"
	"score/pm"
)

// HeadBytes is the length of the header of each message.
const HeadBytes = 8

// Header begins each message. With up to 40 bytes of payload a message inside a node is one cache
// line.
//
// It has four fields, the most that the compiler keeps in registers: a header written byte by byte
// and read as one word would wait until all earlier stores are done.
type Header struct {
	ID uint8 // handler at the receiver: FirstID to LastID
	Ports
	Bits uint8 // the handler's
	Arg  uint32
}

// Ports are the user's.
type Ports struct {
	To   uint8 // at the receiver
	From uint8 // at the sender
}

// Identifiers of active messages. Those below FirstID are the package's own.
const (
	FirstID uint8 = 32
	LastID  uint8 = 255
)

func (h Header) word() uint64 {
	return uint64(h.ID) | uint64(h.To)<<8 | uint64(h.From)<<16 | uint64(h.Bits)<<24 | uint64(h.Arg)<<32
}

func headerOf(word uint64) Header {
	return Header{
		ID: uint8(word), Ports: Ports{uint8(word >> 8), uint8(word >> 16)}, Bits: uint8(word >> 24), Arg: uint32(word >> 32),
	}
}

// Packet is a received active message, in the channel's memory. It is valid until the handler
// returns.
type Packet struct {
	Header
	Source int // rank of the sender
	EP     *EP // the way back to it
	length int // of the payload, in bytes
	there  []byte
	msg    pm.Message // where the rest comes, if there is less than the payload
}

// Len returns the length of the payload in bytes.
func (p *Packet) Len() int { return p.length }

// whole reports whether all of the payload was there when the message was met.
func (p *Packet) whole() bool { return len(p.there) == p.length }

// Word returns the first word of the payload, if it was there when the message was met.
func (p *Packet) Word() (word uint64, there bool) {
	if len(p.there) < 8 {
		return 0, false
	}
	return binary.LittleEndian.Uint64(p.there), true
}

// Head returns the leading bytes of the payload that have arrived.
func (p *Packet) Head() []byte {
	if p.whole() {
		return p.there
	}
	return p.msg.Head()[HeadBytes:]
}

// Bytes returns the payload; it waits for the tail. The error is pm.ErrPeerGone if the sender died
// while it was writing.
func (p *Packet) Bytes() ([]byte, error) { return p.Prefix(p.length) }

// Prefix returns the first n bytes of the payload, or ErrPeer if it is shorter.
func (p *Packet) Prefix(n int) ([]byte, error) {
	if uint(n) <= uint(len(p.there)) {
		return p.there[:n], nil
	}
	return p.wait(n)
}

// wait is Prefix of bytes that were not there at first.
func (p *Packet) wait(n int) ([]byte, error) {
	if p.length < n {
		return nil, ErrPeer
	}
	if err := p.msg.WaitFor(HeadBytes + n); err != nil {
		return nil, err
	}
	return p.Head()[:n], nil
}

// CopyTo copies the payload from an offset on while it arrives, as much as dst has room for.
func (p *Packet) CopyTo(dst []byte, from int) (int, error) {
	if !p.whole() {
		return p.copyArriving(dst, from)
	}
	data := p.there[min(from, len(p.there)):]
	if len(data) == 8 && len(dst) == 8 { // the commonest, without the call that copying costs
		binary.LittleEndian.PutUint64(dst, binary.LittleEndian.Uint64(data))
		return 8, nil
	}
	return copy(dst, data), nil
}

func (p *Packet) copyArriving(dst []byte, from int) (int, error) {
	from += HeadBytes
	dst = dst[:min(len(dst), max(p.msg.Len()-from, 0))]
	for done := 0; done < len(dst); {
		there := min(p.msg.Available()-from, len(dst))
		if there <= done {
			if err := p.msg.WaitFor(from + done + 1); err != nil {
				return done, err
			}
			continue
		}
		copy(dst[done:there], p.msg.Head()[from+done:])
		done = there
	}
	return len(dst), nil
}

func putHeader(buf []byte, h Header) { binary.LittleEndian.PutUint64(buf, h.word()) }
