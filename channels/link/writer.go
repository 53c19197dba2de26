package link

import (
	"encoding/binary"
	"hash/crc32"
	"score/flowctl"
)

// Writer makes one datagram after the other: Begin, Add or Borrow for each frame, Finish.
// It belongs to one driver and keeps no memory of its own.
type Writer struct {
	buf    []byte // of the datagram, as long as it may become
	at     int
	frames int
	kind   Kind
	mark   flowctl.Mark
	// guarded: the CRC leaves out most of a long frame, which is the datagram's last.
	guarded bool
	covered int    // how many bytes of the datagram the CRC covers; 0: all
	tail    []byte // the last frame's data, if it was borrowed
}

// Begin starts a datagram in buf, of at most limit bytes; limit and buf have at least HeadBytes,
// the limit of a datagram with frames at least MinDatagram. Of h it takes what belongs to the kind,
// and not Frames.
func (w *Writer) Begin(buf []byte, limit int, h *Head) {
	w.buf = buf[:min(len(buf), limit, MaxDatagram)]
	w.at, w.frames, w.kind, w.mark = HeadBytes, 0, h.Kind, 0
	w.guarded, w.covered, w.tail = h.Guarded, 0, nil
	b := (*[HeadBytes]byte)(w.buf)
	b[magicAt], b[versionAt], b[kindAt] = magic, version, byte(h.Kind)
	binary.LittleEndian.PutUint64(b[jobAt:], h.Job)
	binary.LittleEndian.PutUint32(b[channelAt:], h.Channel)
	binary.LittleEndian.PutUint32(b[fromAt:], h.From)
	binary.LittleEndian.PutUint32(b[toAt:], h.To)
	clear(b[framesAt:])
	b[statusAt] = h.Flow
	switch h.Kind {
	case Data, Ask:
		w.mark = h.Data.Mark
		b[statusAt] |= h.Status << flowBits
		binary.LittleEndian.PutUint32(b[seqAt:], uint32(h.Data.Seq))
		binary.LittleEndian.PutUint32(b[txAt:], uint32(h.Data.Tx))
		putAnswer(b, &h.Answer)
	case Answer:
		b[statusAt] |= h.Status << flowBits
		putAnswer(b, &h.Answer)
	case Here:
		b[statusAt] = h.Status
		binary.LittleEndian.PutUint16(b[contextAt:], h.Port)
	case End:
		b[statusAt] = h.Status
	case Where:
	}
}

func putAnswer(b *[HeadBytes]byte, a *flowctl.Answer) {
	b[answerKindAt] = byte(a.Kind)
	binary.LittleEndian.PutUint32(b[nextAt:], uint32(a.Next))
	binary.LittleEndian.PutUint32(b[echoAt:], uint32(a.Echo))
	binary.LittleEndian.PutUint16(b[roomAt:], a.Room)
}

// Room returns how many bytes the first frame of a long message could have now; other frames could
// have TotalBytes more. Below 0: no more frames.
func (w *Writer) Room() int {
	if w.kind != Data || w.frames == framesLimit {
		return -1
	}
	return max(len(w.buf)-w.at-FrameBytes-TotalBytes, -1)
}

// Add adds a frame: data of a message of total bytes, its first ones if start; without start total
// does not matter. False: it does not fit, and nothing was added; nor is a frame without data
// added, unless it is a whole message.
func (w *Writer) Add(total int, start bool, data []byte) bool {
	if !w.open(total, start, data) {
		return false
	}
	if w.guarded && len(data) >= LongFrame {
		w.last(w.at + len(data))
	}
	w.at += copy(w.buf[w.at:], data)
	return true
}

// Borrow is Add for the last frame of a datagram, whose data is not copied: whoever sends it finds
// it behind the bytes of the buffer. It has at least LongFrame bytes, which stay as they are.
func (w *Writer) Borrow(total int, start bool, data []byte) bool {
	if len(data) < LongFrame || !w.open(total, start, data) {
		return false
	}
	w.tail = data
	w.last(w.at)
	return true
}

// last ends the buffer, so that no frame follows, and what a guarded datagram's CRC covers.
func (w *Writer) last(end int) {
	w.buf = w.buf[:end]
	if w.guarded {
		w.covered = w.at + upperHeads
	}
}

// open writes the header of a frame with the data.
func (w *Writer) open(total int, start bool, data []byte) bool {
	size, flags := FrameBytes, byte(0)
	switch {
	case start && total == len(data):
		flags = flagStart
	case len(data) == 0 || start && (total < len(data) || uint64(total) > maxTotal):
		return false
	case start:
		size, flags = FrameBytes+TotalBytes, flagStart|flagLong
	}
	if w.kind != Data || w.frames == framesLimit || len(data) > len(w.buf)-w.at-size {
		return false
	}
	b := w.buf[w.at : w.at+size]
	binary.LittleEndian.PutUint16(b[sizeAt:], uint16(len(data)))
	b[flagsAt], b[reservedAt] = flags, 0
	if flags&flagLong != 0 {
		binary.LittleEndian.PutUint32(b[totalAt:], uint32(total))
	}
	w.at += size
	w.frames++
	return true
}

// maxTotal is the longest message: a frame has 32 bits for its length.
const maxTotal = 1<<32 - 1

// Finish gives the last frame, or the ask, the mark, besides that of the Head, and returns the
// length of the datagram in the buffer, without what was borrowed: 0 if it is Data without a frame,
// which must not be sent.
func (w *Writer) Finish(mark flowctl.Mark) int {
	if w.kind == Data && w.frames == 0 {
		return 0
	}
	if w.kind == Data || w.kind == Ask {
		mark |= w.mark
	} else {
		mark = 0
	}
	w.buf[markAt] = byte(mark)
	binary.LittleEndian.PutUint16(w.buf[framesAt:], uint16(w.frames))
	if w.kind != Here {
		binary.LittleEndian.PutUint16(w.buf[contextAt:], uint16(w.at+len(w.tail)))
	}
	binary.LittleEndian.PutUint32(w.buf[crcAt:], w.sum())
	return w.at
}

func (w *Writer) sum() uint32 {
	head, tail := w.buf[:w.at], w.tail
	if w.covered > 0 {
		head[statusAt] |= guardedBit
		head, tail = head[:min(w.covered, len(head))], tail[:min(upperHeads, len(tail))]
	}
	table := castagnoli()
	return crc32.Update(crc32.Checksum(head[magicAt:], table), table, tail)
}
