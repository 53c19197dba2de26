package handover

import (
	"encoding/binary"
	"errors"
)

// magic opens every packet: "SCH1".
const magic = 0x31484353

// Own as the rank of a request asks for the context of the asking rank.
const Own = ^uint32(0)

// Request names an image.
type Request struct {
	Channel uint32
	Rank    uint32 // or Own
}

// requestBytes is the length of a request.
const requestBytes = 12

// Status is the answer to a request.
type Status uint32

// Statuses.
const (
	StatusOK        Status = 0 // the descriptor comes with the answer
	StatusRank      Status = 1 // the rank is not on this node
	StatusChannel   Status = 2 // there is no such channel
	StatusGone      Status = 3 // the rank ended
	StatusExhausted Status = 4 // no memory or descriptor for the image
)

// answerBytes is the length of an answer.
const answerBytes = 8

// errPacket says that the other side does not speak this protocol.
var errPacket = errors.New("handover: not a packet of this protocol")

func (r Request) encode() (b [requestBytes]byte) {
	binary.LittleEndian.PutUint32(b[0:], magic)
	binary.LittleEndian.PutUint32(b[4:], r.Channel)
	binary.LittleEndian.PutUint32(b[8:], r.Rank)
	return b
}

func decodeRequest(b []byte) (Request, error) {
	if len(b) != requestBytes || binary.LittleEndian.Uint32(b) != magic {
		return Request{}, errPacket
	}
	return Request{Channel: binary.LittleEndian.Uint32(b[4:]), Rank: binary.LittleEndian.Uint32(b[8:])}, nil
}

func (s Status) encode() (b [answerBytes]byte) {
	binary.LittleEndian.PutUint32(b[0:], magic)
	binary.LittleEndian.PutUint32(b[4:], uint32(s))
	return b
}

func decodeStatus(b []byte) (Status, error) {
	if len(b) != answerBytes || binary.LittleEndian.Uint32(b) != magic {
		return 0, errPacket
	}
	return Status(binary.LittleEndian.Uint32(b[4:])), nil
}
