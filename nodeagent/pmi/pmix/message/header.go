package message

import "encoding/binary"

// HeaderLen is the length in bytes of the header before every message, and before
// the hello.
const HeaderLen = 16

// Header is what stands before a message.
type Header struct {
	// Peer is the number that the server gave to the client.
	Peer uint32
	// Tag of a request is that of its reply; TagNotify is that of an event.
	Tag uint32
	// Length of the payload in bytes.
	Length uint32
}

// TagNotify marks what a server sends without having been asked.
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
