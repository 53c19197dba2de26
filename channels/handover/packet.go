package handover

import (
	"encoding/binary"
	"errors"
	"score/channels/abi"
)

// magic opens a request for an image, and every answer: "SCH1".
const magic = 0x31484353

// magicNetwork opens a request for the way to other nodes: "SCN1". A server that is older than
// that hangs up, as on anything that it does not know.
const magicNetwork = 0x314e4353

// magicBulk opens a request for a socket for bulk datagrams: "SCB1". An older server hangs up.
const magicBulk = 0x31424353

// magicCredits opens a request for an image of a channel with credits: "SCC1".
const magicCredits = 0x31434353

// Own as the rank of a request asks for the context of the asking rank.
const Own = ^uint32(0)

// Request names an image, or the network of the asking rank's own context.
type Request struct {
	Channel uint32
	Rank    uint32 // or Own
	Network bool   // the socket of the context and the place map; Rank is Own
	Bulk    bool   // the context's socket for bulk datagrams; Rank is Own
	Flow    uint32 // abi.FlowNack or, not with Network, abi.FlowCredits: what the asking rank uses
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
	StatusAlone     Status = 5 // network, bulk: no rank of the job is on another node, or the link has none
	StatusNotGiven  Status = 6 // the job was not given as many channels
	StatusFlow      Status = 7 // the channel of that rank uses another flow control
	StatusPlaces    Status = 8 // too many ranks on other nodes for credits
)

// answerBytes is the length of an answer.
const answerBytes = 8

// errPacket means that the other side does not speak this protocol.
var errPacket = errors.New("handover: not a packet of this protocol")

func (r Request) encode() (b [requestBytes]byte) {
	kind := uint32(magic)
	switch {
	case r.Network:
		kind = magicNetwork
	case r.Bulk:
		kind = magicBulk
	case r.Flow == abi.FlowCredits:
		kind = magicCredits
	}
	binary.LittleEndian.PutUint32(b[0:], kind)
	binary.LittleEndian.PutUint32(b[4:], r.Channel)
	binary.LittleEndian.PutUint32(b[8:], r.Rank)
	return b
}

func decodeRequest(b []byte) (Request, error) {
	if len(b) != requestBytes {
		return Request{}, errPacket
	}
	r := Request{Channel: binary.LittleEndian.Uint32(b[4:]), Rank: binary.LittleEndian.Uint32(b[8:])}
	switch binary.LittleEndian.Uint32(b) {
	case magic:
		return r, nil
	case magicCredits:
		r.Flow = abi.FlowCredits
		return r, nil
	case magicNetwork:
		// Only its owner receives on a context's socket.
		if r.Network = true; r.Rank == Own {
			return r, nil
		}
	case magicBulk:
		if r.Bulk = true; r.Rank == Own {
			return r, nil
		}
	}
	return Request{}, errPacket
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
