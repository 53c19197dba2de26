package link

import (
	"encoding/binary"
	"hash/crc32"

	"score/flowctl"
)

// Frame is one frame of a Data datagram.
type Frame struct {
	Total int    // length of the message, in its first frame; else 0
	Start bool   // the first frame of its message
	Data  []byte // of the datagram's memory
}

// Frames are the frames of a datagram that [Parse] has checked.
type Frames struct {
	rest []byte
}

// Next returns the next frame, false after the last.
func (f *Frames) Next() (Frame, bool) {
	if len(f.rest) == 0 {
		return Frame{}, false
	}
	frame, size := split(f.rest)
	if size == 0 {
		return Frame{}, false
	}
	f.rest = f.rest[size:]
	return frame, true
}

// split takes the first frame off b; size 0 says that there is none.
func split(b []byte) (f Frame, size int) {
	if len(b) < FrameBytes {
		return Frame{}, 0
	}
	n, flags, body := int(binary.LittleEndian.Uint16(b[sizeAt:])), b[flagsAt], FrameBytes
	if flags&^byte(flagsKnown) != 0 || b[reservedAt] != 0 {
		return Frame{}, 0
	}
	switch flags {
	case flagStart:
		f.Start, f.Total = true, n
	case flagStart | flagLong:
		if len(b) < FrameBytes+TotalBytes {
			return Frame{}, 0
		}
		body = FrameBytes + TotalBytes
		f.Start, f.Total = true, int(binary.LittleEndian.Uint32(b[totalAt:]))
		if f.Total <= n || n == 0 {
			return Frame{}, 0
		}
	default:
		if flags != 0 || n == 0 {
			return Frame{}, 0
		}
	}
	if n > len(b)-body {
		return Frame{}, 0
	}
	f.Data = b[body : body+n : body+n]
	return f, body + n
}

// Parse reads a datagram. It checks all of it, frames included, before it returns; any fault is ErrFrame.
// The frames are those of data's memory, which must not change while they are used.
func Parse(data []byte) (Head, Frames, error) {
	if len(data) < HeadBytes || len(data) > MaxDatagram {
		return Head{}, Frames{}, ErrFrame
	}
	b := (*[HeadBytes]byte)(data)
	if b[magicAt] != magic || b[versionAt] != version ||
		binary.LittleEndian.Uint32(b[crcAt:]) != crc32.Checksum(data[magicAt:], castagnoli) {
		return Head{}, Frames{}, ErrFrame
	}
	h := Head{
		Kind:    Kind(b[kindAt]),
		Job:     binary.LittleEndian.Uint64(b[jobAt:]),
		Channel: binary.LittleEndian.Uint32(b[channelAt:]),
		From:    binary.LittleEndian.Uint32(b[fromAt:]),
		To:      binary.LittleEndian.Uint32(b[toAt:]),
		Data: flowctl.Data{
			Seq:  binary.LittleEndian.Uint32(b[seqAt:]),
			Tx:   binary.LittleEndian.Uint32(b[txAt:]),
			Mark: flowctl.Mark(b[markAt]),
		},
		Frames: binary.LittleEndian.Uint16(b[framesAt:]),
		Answer: flowctl.Answer{
			Kind: flowctl.Kind(b[answerKindAt]),
			Room: binary.LittleEndian.Uint16(b[roomAt:]),
			Next: binary.LittleEndian.Uint32(b[nextAt:]),
			Echo: binary.LittleEndian.Uint32(b[echoAt:]),
		},
		Status: b[statusAt],
		Port:   binary.LittleEndian.Uint16(b[contextAt:]),
	}
	if !h.sane() || !adds(data[HeadBytes:], h.Frames) {
		return Head{}, Frames{}, ErrFrame
	}
	return h, Frames{rest: data[HeadBytes:]}, nil
}

// sane says that the header has what its kind has, and nothing else.
func (h *Head) sane() bool {
	if h.Data.Mark&^marksKnown != 0 || h.Answer.Kind > lastAnswer {
		return false
	}
	switch h.Kind {
	case Data:
		return h.Frames > 0 && h.Status == 0 && h.Port == 0
	case Ask:
		return h.Frames == 0 && h.Status == 0 && h.Port == 0
	case Answer:
		return h.Frames == 0 && h.Data == flowctl.Data{} && h.Status == 0 && h.Port == 0
	case Where:
		return h.bare() && h.Status == 0 && h.Port == 0
	case Here:
		return h.bare() && h.Status >= StatusHere && h.Status <= StatusEnded && (h.Port != 0) == (h.Status == StatusHere)
	case End:
		return h.bare() && h.Status >= EndClosed && h.Status <= EndDied && h.Port == 0
	}
	return false
}

// bare says that nothing of flow control is there.
func (h *Head) bare() bool {
	return h.Frames == 0 && h.Data == flowctl.Data{} && h.Answer == flowctl.Answer{}
}

// adds says that b is so many frames, no more and no less.
func adds(b []byte, frames uint16) bool {
	for ; frames > 0; frames-- {
		_, size := split(b)
		if size == 0 {
			return false
		}
		b = b[size:]
	}
	return len(b) == 0
}
