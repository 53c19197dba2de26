package message

import "encoding/binary"

// HeaderLen is the length in bytes of the header before every message, and before
// the hello.
const HeaderLen = 16

// Header precedes a message.
type Header struct {
	// Peer is the number that the server gave to the client.
	Peer uint32
	// Tag is the same in a request and its reply. In an event it is TagNotify.
	Tag uint32
	// Length is the length of the payload in bytes.
	Length uint32
}

// TagNotify marks messages that a server sends without a request.
const TagNotify = 0

// Append appends the header. The length takes the first half of a field of eight
// bytes.
func (h Header) Append(dst []byte) []byte {
	dst = binary.BigEndian.AppendUint32(dst, h.Peer)
	dst = binary.BigEndian.AppendUint32(dst, h.Tag)
	dst = binary.BigEndian.AppendUint32(dst, h.Length)
	return append(dst, 0, 0, 0, 0)
}

// ReadHeader reads a header of HeaderLen bytes.
func ReadHeader(data []byte) Header {
	return Header{
		Peer:   binary.BigEndian.Uint32(data),
		Tag:    binary.BigEndian.Uint32(data[4:]),
		Length: binary.BigEndian.Uint32(data[8:]),
	}
}
