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
func (f *Frames) Next() (frame Frame, ok bool) {
	b := f.rest
	if len(b) < FrameBytes {
		return frame, false
	}
	n, body := int(binary.LittleEndian.Uint16(b[sizeAt:])), FrameBytes
	switch b[flagsAt] {
	case flagStart:
		frame.Start, frame.Total = true, n
	case flagStart | flagLong:
		body = FrameBytes + TotalBytes
		frame.Start, frame.Total = true, int(binary.LittleEndian.Uint32(b[totalAt:]))
	}
	frame.Data = b[body : body+n : body+n]
	f.rest = b[body+n:]
	return frame, true
}

// frameSize is the size of the first frame of b with its header, 0 if it is not a good one.
func frameSize(b []byte) int {
	if len(b) < FrameBytes {
		return 0
	}
	head := binary.LittleEndian.Uint32(b)
	n, body := int(head&0xffff), FrameBytes
	switch head >> 16 { // flags, and the reserved byte
	case flagStart:
	case 0:
		if n == 0 {
			return 0
		}
	case flagStart | flagLong:
		body = FrameBytes + TotalBytes
		if len(b) < body || n == 0 || int(binary.LittleEndian.Uint32(b[totalAt:])) <= n {
			return 0
		}
	default:
		return 0
	}
	if n > len(b)-body {
		return 0
	}
	return body + n
}

// Length returns the length that the first datagram in data states, or that of all data if the
// statement is impossible: it takes apart what the kernel has joined. Parse then checks each part.
func Length(data []byte) int {
	if len(data) < HeadBytes {
		return len(data)
	}
	n := int(binary.LittleEndian.Uint16(data[contextAt:]))
	if Kind(data[kindAt]) == Here {
		n = HeadBytes
	}
	if n < HeadBytes || n > len(data) {
		return len(data)
	}
	return n
}

// covered returns how many bytes of a datagram its CRC covers, itself among them: all, or of a
// guarded one the headers and the beginning of its last frame, which is the only long one. 0: it is
// not a good datagram.
func covered(data []byte) int {
	if Kind(data[kindAt]) != Data || data[statusAt]&guardedBit == 0 {
		return len(data)
	}
	at := HeadBytes
	for frames := binary.LittleEndian.Uint16(data[framesAt:]); frames > 1; frames-- {
		size := frameSize(data[at:])
		if size == 0 || binary.LittleEndian.Uint16(data[at+sizeAt:]) >= LongFrame {
			return 0
		}
		at += size
	}
	if size := frameSize(data[at:]); size == 0 || size != len(data)-at {
		return 0
	}
	n := int(binary.LittleEndian.Uint16(data[at+sizeAt:]))
	if n < LongFrame {
		return 0
	}
	return len(data) - n + upperHeads
}

// Parse reads a datagram. It checks all of it, frames included, before it returns; any fault is
// ErrFrame. Of a guarded datagram nothing but the transport has checked most of the last frame. The
// frames are in data, which must not change while they are used.
func Parse(data []byte) (h Head, frames Frames, err error) {
	if len(data) < HeadBytes || len(data) > MaxDatagram {
		return h, frames, ErrFrame
	}
	b, end := (*[HeadBytes]byte)(data), covered(data)
	if b[magicAt] != magic || b[versionAt] != version || end == 0 ||
		binary.LittleEndian.Uint32(b[crcAt:]) != crc32.Checksum(data[magicAt:end], castagnoli()) {
		return h, frames, ErrFrame
	}
	h.read(b)
	if h.Kind != Here {
		if int(h.Port) != len(data) {
			return Head{}, frames, ErrFrame
		}
		h.Port = 0
	}
	if !h.sane() || !adds(data[HeadBytes:], h.Frames) {
		return Head{}, frames, ErrFrame
	}
	frames.rest = data[HeadBytes:]
	return h, frames, nil
}

// read takes the fields from the datagram.
func (h *Head) read(b *[HeadBytes]byte) {
	h.Kind = Kind(b[kindAt])
	h.Job = binary.LittleEndian.Uint64(b[jobAt:])
	h.Channel = binary.LittleEndian.Uint32(b[channelAt:])
	h.From = binary.LittleEndian.Uint32(b[fromAt:])
	h.To = binary.LittleEndian.Uint32(b[toAt:])
	h.Data.Seq = flowctl.Seq(binary.LittleEndian.Uint32(b[seqAt:]))
	h.Data.Tx = flowctl.Tx(binary.LittleEndian.Uint32(b[txAt:]))
	h.Data.Mark = flowctl.Mark(b[markAt])
	h.Frames = binary.LittleEndian.Uint16(b[framesAt:])
	h.Answer.Kind = flowctl.Kind(b[answerKindAt])
	h.Answer.Next = flowctl.Seq(binary.LittleEndian.Uint32(b[nextAt:]))
	h.Answer.Echo = flowctl.Tx(binary.LittleEndian.Uint32(b[echoAt:]))
	h.Answer.Room = binary.LittleEndian.Uint16(b[roomAt:])
	if h.Kind == Here || h.Kind == End {
		h.Status = b[statusAt]
	} else {
		h.Flow, h.Status, h.Guarded = b[statusAt]&flowMask, b[statusAt]&^guardedBit>>flowBits, b[statusAt]&guardedBit != 0
	}
	h.Port = binary.LittleEndian.Uint16(b[contextAt:])
}

// sane reports whether the header has the fields of its kind, and no others.
func (h *Head) sane() bool {
	if h.Guarded && h.Kind != Data || h.Data.Mark&^marksKnown != 0 || h.Answer.Kind > lastAnswer || h.Flow > FlowCredits {
		return false
	}
	switch h.Kind {
	case Data:
		return h.Frames > 0 && h.Status <= StatusSendOnly && h.Port == 0
	case Ask:
		return h.Frames == 0 && h.Status <= StatusSendOnly && h.Port == 0
	case Answer:
		return h.Frames == 0 && h.Data == flowctl.Data{} && h.Status <= StatusSendOnly && h.Port == 0
	case Where:
		return h.bare() && h.Status == 0 && h.Port == 0
	case Here:
		return h.bare() && h.Status >= StatusHere && h.Status <= StatusEnded && (h.Port != 0) == (h.Status == StatusHere)
	case End:
		return h.bare() && h.Status >= EndClosed && h.Status <= EndFlow && h.Port == 0
	}
	return false
}

// bare reports whether nothing of flow control is there.
func (h *Head) bare() bool {
	return h.Frames == 0 && h.Data == flowctl.Data{} && h.Answer == flowctl.Answer{}
}

// adds reports whether b consists of exactly that number of frames.
func adds(b []byte, frames uint16) bool {
	for ; frames > 0; frames-- {
		size := frameSize(b)
		if size == 0 {
			return false
		}
		b = b[size:]
	}
	return len(b) == 0
}
