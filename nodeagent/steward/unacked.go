package steward

import (
	"score/nodeagent/steward/wire"

	"google.golang.org/protobuf/proto"
)

// unacked is the output of an attached job that was read from the ranks' pipes and that the reader
// has not acknowledged. A new reader gets it again, so no output is lost with an agent, and none
// comes twice.
type unacked struct {
	frames []byte  // as they are sent, one after the other
	pieces []piece // of frames from head on
	head   int     // of pieces
	start  int     // where the first of them begins
	last   uint64  // number given last
}

// piece is one message of kept.
type piece struct {
	number uint64
	end    int // in frames
}

// add frames a message of the number given and keeps it. The frame is valid until the next call.
func (k *unacked) add(number uint64, m proto.Message) (frame []byte, err error) {
	at := len(k.frames)
	if k.frames, err = wire.Append(k.frames, m); err != nil {
		return nil, err
	}
	k.pieces = append(k.pieces, piece{number: number, end: len(k.frames)})
	return k.frames[at:], nil
}

// size returns how many bytes are kept.
func (k *unacked) size() int { return len(k.frames) - k.start }

// acknowledge drops what the reader has acknowledged, up to the number.
func (k *unacked) acknowledge(number uint64) {
	for k.head < len(k.pieces) && k.pieces[k.head].number <= number {
		k.start = k.pieces[k.head].end
		k.head++
	}
	if k.start < len(k.frames)/2 {
		return
	}
	k.frames = k.frames[:copy(k.frames, k.frames[k.start:])]
	moved := copy(k.pieces, k.pieces[k.head:])
	k.pieces = k.pieces[:moved]
	for i := range k.pieces {
		k.pieces[i].end -= k.start
	}
	k.head, k.start = 0, 0
	if len(k.frames) == 0 && cap(k.frames) > keepOut {
		k.frames = nil
	}
}

// has reports whether the message with this number is kept.
func (k *unacked) has(number uint64) bool {
	return k.head < len(k.pieces) && number >= k.pieces[k.head].number && number <= k.last
}

// all returns the frames that are kept.
func (k *unacked) all() []byte { return k.frames[k.start:] }
