package tag

import (
	"encoding/binary"
	"score/pm/uct"
)

// Identifiers of this package's messages.
const (
	idEager  = uct.FirstID + iota // tag, data if bitData, number of the send if bitSync, bytes; Arg: window of the other way
	idOffer                       // tag, length, exposed memory, data if bitData; Arg: number of the send
	idTaken                       // the receiver has the bytes of send Arg, or cannot read them if bitFailed
	idWindow                      // Arg: window of the other way
)

// Bits of a header.
const (
	bitSpace  uint8 = 1 << iota // the message's Space
	bitData                     // immediate data comes along
	bitWant                     // beyond the window: an offer that would have been eager, a short eager message
	bitFailed                   // the receiver of an offer could not read its bytes
	bitSync                     // the sender of an eager message waits for idTaken
)

const (
	eagerHead = 8     // tag
	dataHead  = 8     // immediate data
	syncHead  = 8     // number of the send
	offerHead = 5 * 8 // tag, length, key, offset, address
)

// envelope describes a message. It has four words, the most that the compiler keeps in registers:
// copies of more, written word by word and read in pairs, cost each message 10 ns.
type envelope struct {
	tag    uint64
	length int
	data   uint64 // immediate data
	word   uint64 // envelopeBits, and the number of a synchronous send above numberShift
}

// envelopeBits are the bits of a header that are part of the envelope.
const envelopeBits = bitSpace | bitData | bitSync

// numberShift is behind all bits of a header.
const numberShift = 32

func newEnvelope(tag uint64, length int, o SendOptions) envelope {
	v := envelope{tag: tag, length: length, word: uint64(uint8(o.Space) & bitSpace)}
	if o.HasData {
		v.data, v.word = o.Data, v.word|uint64(bitData)
	}
	return v
}

// sent is the result of a send.
func (v envelope) sent() Result {
	return Result{Tag: v.tag, Length: v.length, Data: v.data, HasData: v.hasData()}
}

func (v envelope) space() Space { return Space(v.bits() & bitSpace) }

func (v envelope) hasData() bool { return v.bits()&bitData != 0 }

// sync reports whether the sender of an eager message waits for idTaken; number is the number of
// its send.
func (v envelope) sync() bool { return v.bits()&bitSync != 0 }

func (v envelope) number() uint32 { return uint32(v.word >> numberShift) }

// numbered returns the envelope of a synchronous send.
func (v envelope) numbered(number uint32) envelope {
	v.word = uint64(v.bits()|bitSync) | uint64(number)<<numberShift
	return v
}

// bits returns the bits of a header.
func (v envelope) bits() uint8 { return uint8(v.word) }

// putData writes immediate data, if there is any, and returns what is behind it.
func (v envelope) putData(buf []byte) []byte {
	if !v.hasData() {
		return buf
	}
	binary.LittleEndian.PutUint64(buf, v.data)
	return buf[dataHead:]
}

// headLength is the length of what precedes an eager message's bytes.
func (v envelope) headLength() int {
	n := eagerHead
	if v.hasData() {
		n += dataHead
	}
	if v.sync() {
		n += syncHead
	}
	return n
}

// eagerOf reads the head of an eager message; head is the length of it.
func eagerOf(p *uct.Packet) (v envelope, head int, err error) {
	v.word = uint64(p.Bits & envelopeBits)
	head = v.headLength()
	b := p.Head()
	if len(b) < head {
		if b, err = p.Prefix(head); err != nil {
			return v, 0, err
		}
	}
	v.tag = binary.LittleEndian.Uint64(b)
	if v.hasData() {
		v.data = binary.LittleEndian.Uint64(b[eagerHead:])
	}
	if v.sync() {
		v = v.numbered(uint32(binary.LittleEndian.Uint64(b[head-syncHead:])))
	}
	v.length = p.Len() - head
	return v, head, nil
}

// maxLength bounds what an offer may claim: no process has so much memory.
const maxLength = 1 << 47

// offerOf reads an offer.
func offerOf(p *uct.Packet) (v envelope, from uct.Exposed, err error) {
	v.word = uint64(p.Bits & (bitSpace | bitData))
	n := offerHead
	if v.hasData() {
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
	if v.hasData() {
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
	rest := v.putData(b[eagerHead:])
	if v.sync() {
		binary.LittleEndian.PutUint64(rest, uint64(v.number()))
		rest = rest[syncHead:]
	}
	copy(rest, data)
}
