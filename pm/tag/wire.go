package tag

import (
	"encoding/binary"
	"score/pm/uct"
)

// Identifiers of this package's messages.
const (
	idEager  = uct.FirstID + iota // tag, immediate data if bitData, bytes; Arg: window of the other way
	idOffer                       // tag, length, exposed memory, data if bitData; Arg: number of the send
	idTaken                       // the receiver has the bytes of send Arg
	idWindow                      // Arg: window of the other way
)

// Bits of a header.
const (
	bitSpace uint8 = 1 << iota // the message is for space Untagged
	bitData                    // immediate data comes along
	bitWant                    // an offer that would have been eager, had the window been wider
)

const (
	eagerHead = 8     // tag
	dataHead  = 8     // immediate data
	offerHead = 5 * 8 // tag, length, key, offset, address
)

// envelope is what a message says of itself.
type envelope struct {
	space   Space
	tag     uint64
	length  int
	data    uint64 // immediate data
	hasData bool
}

func (v envelope) bits() (bits uint8) {
	if v.space == Untagged {
		bits |= bitSpace
	}
	if v.hasData {
		bits |= bitData
	}
	return bits
}

// putData writes immediate data, if there is any, and returns what is behind it.
func (v envelope) putData(buf []byte) []byte {
	if !v.hasData {
		return buf
	}
	binary.LittleEndian.PutUint64(buf, v.data)
	return buf[dataHead:]
}

// headLength is the length of what precedes an eager message's bytes.
func (v envelope) headLength() int {
	if v.hasData {
		return eagerHead + dataHead
	}
	return eagerHead
}

// eagerOf reads the head of an eager message; head is the length of it.
func eagerOf(p *uct.Packet) (v envelope, head int, err error) {
	v.hasData = p.Bits&bitData != 0
	if p.Bits&bitSpace != 0 {
		v.space = Untagged
	}
	head = v.headLength()
	b, err := p.Prefix(head)
	if err != nil {
		return v, 0, err
	}
	v.tag = binary.LittleEndian.Uint64(b)
	if v.hasData {
		v.data = binary.LittleEndian.Uint64(b[eagerHead:])
	}
	v.length = p.Len() - head
	return v, head, nil
}

// maxLength bounds what an offer may claim: no process has so much memory.
const maxLength = 1 << 47

// offerOf reads an offer.
func offerOf(p *uct.Packet) (v envelope, from uct.Exposed, err error) {
	v.hasData = p.Bits&bitData != 0
	if p.Bits&bitSpace != 0 {
		v.space = Untagged
	}
	n := offerHead
	if v.hasData {
		n += dataHead
	}
	b, err := p.Prefix(n)
	if err != nil {
		return v, from, err
	}
	word := func(i int) uint64 { return binary.LittleEndian.Uint64(b[8*i:]) }
	v.tag = word(0)
	if word(1) > maxLength {
		return v, from, uct.ErrPeer
	}
	v.length = int(word(1))
	from = uct.Exposed{Key: word(2), Offset: word(3), Address: word(4)}
	if v.hasData {
		v.data = word(5)
	}
	return v, from, nil
}

func putOffer(b []byte, v envelope, from uct.Exposed) {
	for i, w := range [...]uint64{v.tag, uint64(v.length), from.Key, from.Offset, from.Address} {
		binary.LittleEndian.PutUint64(b[8*i:], w)
	}
	v.putData(b[offerHead:])
}

func putEager(b []byte, v envelope, data []byte) {
	binary.LittleEndian.PutUint64(b, v.tag)
	copy(v.putData(b[eagerHead:]), data)
}
