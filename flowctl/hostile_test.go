package flowctl

import (
	"encoding/binary"
	"testing"
	"unsafe"
)

// FuzzHostile runs the machines on a state of arbitrary bytes, as an agent does
// with the image of a process that writes there whatever it likes. Whatever comes
// of it, every call returns, a burst is no longer than was asked for, and nothing
// is released twice within one numbering.
func FuzzHostile(f *testing.F) {
	f.Add(make([]byte, 120), []byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11})
	f.Add([]byte("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"), []byte{3, 3, 3, 7, 8, 9, 1, 2, 3, 255, 254, 253})
	f.Fuzz(func(t *testing.T, image, input []byte) {
		for _, policy := range []Policy{AckNack{}, Credits{Initial: 2, Chunk: 8}, Credits{Initial: 1<<16 - 1, Chunk: 1<<16 - 1}} {
			c := DefaultConfig()
			c.Policy = policy
			var s Sender
			var r Receiver
			scribble(image, unsafe.Slice((*byte)(unsafe.Pointer(&s)), unsafe.Sizeof(s)))
			scribble(image[min(len(image), int(unsafe.Sizeof(s))):], unsafe.Slice((*byte)(unsafe.Pointer(&r)), unsafe.Sizeof(r)))
			h := hostile{t: t, c: &c, s: &s, r: &r, input: input}
			for len(h.input) > 0 {
				h.step()
			}
		}
	})
}

// scribble fills memory from bytes, over and over.
func scribble(from, to []byte) {
	for i := range to {
		if len(from) > 0 {
			to[i] = from[i%len(from)]
		}
	}
}

// hostile feeds machines from bytes.
type hostile struct {
	t     *testing.T
	c     *Config
	s     *Sender
	r     *Receiver
	input []byte
}

func (h *hostile) byte() byte {
	if len(h.input) == 0 {
		return 0
	}
	b := h.input[0]
	h.input = h.input[1:]
	return b
}

func (h *hostile) number() uint32 {
	var b [4]byte
	h.input = h.input[copy(b[:], h.input):]
	return binary.LittleEndian.Uint32(b[:])
}

func (h *hostile) step() {
	now := int64(h.number())<<31 | int64(h.byte())
	switch h.byte() % 13 {
	case 0:
		limit := h.number()
		if b := h.s.Send(h.c, now, limit); b.Count > limit {
			h.t.Fatalf("burst of %d frames, asked for %d", b.Count, limit)
		}
	case 1:
		a := Answer{Kind: Kind(h.byte()), Room: uint16(h.number()), Next: Seq(h.number()), Echo: Tx(h.number())}
		before := h.s.Acked()
		if n := h.s.OnAnswer(h.c, now, a); n != distance(before, h.s.Acked()) {
			h.t.Fatalf("released %d, and went from %d to %d", n, before, h.s.Acked())
		}
	case 2:
		h.s.Tick(h.c, now)
	case 3:
		h.s.Queue(h.number())
	case 4:
		h.s.Flush(h.c, now)
	case 5:
		h.s.Suspend(now)
	case 6:
		h.s.Resume(h.c, now)
	case 7:
		d := Data{Seq: Seq(h.number()), Tx: Tx(h.number()), Mark: Mark(h.byte())}
		room := h.number()
		if v := h.r.OnData(h.c, now, d, room); v == Accept && room == 0 {
			h.t.Fatal("accepted without room")
		}
	case 8:
		h.r.OnAsk(h.c, now, Data{Seq: Seq(h.number()), Tx: Tx(h.number()), Mark: Mark(h.byte())}, h.number())
	case 9:
		h.r.OnRoom(h.c, now, h.number())
	case 10:
		h.r.Tick(h.c, now)
		h.r.Answer(h.c, h.number())
	case 11:
		h.r.Flush()
		h.r.Suspend(now)
	case 12:
		h.r.Resume(h.c, now, h.number())
	}
	h.s.Sendable(h.c)
	h.r.Waits(h.c)
	_, _ = h.s.Status(), h.r.Status()
	_, _ = h.s.Deadline(), h.r.Deadline()
	_ = h.r.Refusing().String() + h.s.Held().String()
}

// TestSendEnds: a hostile state must not make a caller that follows the
// documented loop go on for ever.
func TestSendEnds(t *testing.T) {
	c := DefaultConfig()
	for _, fill := range []byte{0x00, 0x55, 0x7f, 0x80, 0xaa, 0xff} {
		var s Sender
		scribble([]byte{fill}, unsafe.Slice((*byte)(unsafe.Pointer(&s)), unsafe.Sizeof(s)))
		s.flags, s.hold = 0, Open
		s.end = s.nxt + 1<<31
		sent := uint32(0)
		for range 1 << 16 {
			b := s.Send(&c, epoch, 64)
			if b.Empty() {
				break
			}
			sent += b.Count
		}
		if sent > uint32(c.MaxWindow)+s.Unacked() {
			t.Errorf("state of %#x: %d frames were sent without an answer", fill, sent)
		}
	}
}
