package link

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/binary"
)

// Sealed is a question or an answer between sockets that do not know each other yet. It goes to a
// name that anybody may bind, so it carries not the job's key but a seal that only a holder of the
// key can make. The seal also covers the sockets at both ends, which the kernel identifies: a seal
// that was overheard is of no use to another socket.
type Sealed struct {
	Kind     Kind // Where, Here or End
	Channel  uint32
	From, To uint32 // ranks
	// Name is the instance that is asked or told; in Here, the reference of the context's socket,
	// at the node that answers.
	Name   uint32
	Flow   uint8 // in Where
	Status uint8 // in Here and End
}

// The layout, little endian. It is shorter than any other datagram.
const (
	sealedMagicAt   = 4
	sealedVersionAt = 5
	sealedKindAt    = 6
	sealedStatusAt  = 7
	sealedFlowAt    = 8
	sealedChannelAt = 12
	sealedFromAt    = 16
	sealedToAt      = 20
	sealedNameAt    = 24
	sealAt          = 32
	sealBytes       = 16
	// SealedBytes is the length of each.
	SealedBytes = sealAt + sealBytes

	sealedMagic   = 'N'
	sealedVersion = 1
)

// Put writes it to buf, sealed with the job's key for the way from one socket to another, and
// returns its length. For a datagram to a name, to is none.
func (s *Sealed) Put(buf []byte, key uint64, from, to Address) int {
	b := buf[:SealedBytes]
	clear(b)
	b[sealedMagicAt], b[sealedVersionAt], b[sealedKindAt] = sealedMagic, sealedVersion, byte(s.Kind)
	b[sealedStatusAt], b[sealedFlowAt] = s.Status, s.Flow
	binary.LittleEndian.PutUint32(b[sealedChannelAt:], s.Channel)
	binary.LittleEndian.PutUint32(b[sealedFromAt:], s.From)
	binary.LittleEndian.PutUint32(b[sealedToAt:], s.To)
	binary.LittleEndian.PutUint32(b[sealedNameAt:], s.Name)
	seal := sealOf(b[:sealAt], key, from, to)
	copy(b[sealAt:], seal[:sealBytes])
	return SealedBytes
}

// ParseSealed reads a sealed datagram. The error is ErrFrame. The caller checks the seal ([Opens])
// before it uses the result.
func ParseSealed(data []byte) (s Sealed, err error) {
	if len(data) != SealedBytes {
		return s, ErrFrame
	}
	b := (*[SealedBytes]byte)(data)
	s = Sealed{
		Kind:    Kind(b[sealedKindAt]),
		Channel: binary.LittleEndian.Uint32(b[sealedChannelAt:]),
		From:    binary.LittleEndian.Uint32(b[sealedFromAt:]),
		To:      binary.LittleEndian.Uint32(b[sealedToAt:]),
		Name:    binary.LittleEndian.Uint32(b[sealedNameAt:]),
		Flow:    b[sealedFlowAt],
		Status:  b[sealedStatusAt],
	}
	zeros := binary.LittleEndian.Uint32(b[:]) == 0 && b[9] == 0 && b[10] == 0 && b[11] == 0 && binary.LittleEndian.Uint32(b[28:]) == 0
	if !zeros || b[sealedMagicAt] != sealedMagic || b[sealedVersionAt] != sealedVersion || !s.sane() {
		return Sealed{}, ErrFrame
	}
	return s, nil
}

// sane reports whether the fields fit the kind.
func (s *Sealed) sane() bool {
	switch s.Kind {
	case Where:
		return s.Status == 0 && s.Flow <= FlowCredits
	case Here:
		return s.Flow == 0 && s.Status >= StatusHere && s.Status <= StatusEnded && (s.Name != 0) == (s.Status == StatusHere)
	case End:
		return s.Flow == 0 && (s.Status == EndClosed || s.Status == EndDied)
	case Data, Ask, Answer:
	}
	return false
}

// Opens reports whether the seal of a datagram that ParseSealed accepted was made with the key, for
// the way from one socket to the other.
func Opens(data []byte, key uint64, from, to Address) bool {
	seal := sealOf(data[:sealAt], key, from, to)
	return subtle.ConstantTimeCompare(seal[:sealBytes], data[sealAt:SealedBytes]) == 1
}

func sealOf(text []byte, key uint64, from, to Address) []byte {
	m := hmac.New(sha256.New, binary.LittleEndian.AppendUint64(nil, key))
	m.Write(text)
	for _, a := range [...]Address{from, to} {
		node, reference, _ := a.Socket()
		m.Write(binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(nil, node), reference))
	}
	return m.Sum(nil)
}
