package stdiorelay

import (
	"score/nodeagent/steward/wire"

	"google.golang.org/protobuf/proto"
)

// keepFrames is the largest buffer of unacked kept once it is empty, in bytes.
const keepFrames = 2 * outputHighWater

// unacked holds the output of an attached job that the reader has not acknowledged. A new reader
// gets it again, so no output is lost with an agent, and none comes twice.
type unacked struct {
	frames []byte  // as they are sent, one after the other
	pieces []piece // of frames from head on
	head   int     // of pieces
	start  int     // offset in frames of pieces[head]
	last   uint64  // number given last
}

// piece is one message in frames.
type piece struct {
	number uint64
	end    int // in frames
}

// add frames and keeps the message with this number. The frame is valid until the next call.
func (u *unacked) add(number uint64, m proto.Message) (frame []byte, err error) {
	at := len(u.frames)
	if u.frames, err = wire.Append(u.frames, m); err != nil {
		return nil, err
	}
	u.pieces = append(u.pieces, piece{number: number, end: len(u.frames)})
	return u.frames[at:], nil
}

// size returns the number of bytes kept.
func (u *unacked) size() int { return len(u.frames) - u.start }

// acknowledge drops the messages up to this number.
func (u *unacked) acknowledge(number uint64) {
	for u.head < len(u.pieces) && u.pieces[u.head].number <= number {
		u.start = u.pieces[u.head].end
		u.head++
	}
	if u.start < len(u.frames)/2 {
		return
	}
	u.frames = u.frames[:copy(u.frames, u.frames[u.start:])]
	moved := copy(u.pieces, u.pieces[u.head:])
	u.pieces = u.pieces[:moved]
	for i := range u.pieces {
		u.pieces[i].end -= u.start
	}
	u.head, u.start = 0, 0
	if len(u.frames) == 0 && cap(u.frames) > keepFrames {
		u.frames = nil
	}
}

// has reports whether the message with this number is kept.
func (u *unacked) has(number uint64) bool {
	return u.head < len(u.pieces) && number >= u.pieces[u.head].number && number <= u.last
}

// all returns the frames of all kept messages.
func (u *unacked) all() []byte { return u.frames[u.start:] }
