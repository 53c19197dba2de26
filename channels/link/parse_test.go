package link

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"score/flowctl"
	"testing"

	"pgregory.net/rapid"
)

// signed makes the datagram's CRC right again.
func signed(b []byte) []byte {
	if len(b) < HeadBytes {
		return b
	}
	if end := covered(b); end >= HeadBytes {
		binary.LittleEndian.PutUint32(b, crc32.Checksum(b[magicAt:end], castagnoli()))
	}
	return b
}

// guarded is the index of a guarded datagram.
const guarded = 8

// TestRefused changes a good datagram; its CRC is made right again.
func TestRefused(t *testing.T) {
	data, answer := datagrams[0], datagrams[2]
	set := func(at int, value byte) func([]byte) []byte {
		return func(b []byte) []byte { b[at] = value; return b }
	}
	const first = HeadBytes // the first frame: 2 bytes; then an empty one; then one with Total
	const third = first + FrameBytes + 2 + FrameBytes
	for name, c := range map[string]struct {
		kind   int // index of the datagram
		change func(b []byte) []byte
	}{
		"short":                     {0, func(b []byte) []byte { return b[:HeadBytes-1] }},
		"long":                      {0, func(b []byte) []byte { return append(b, make([]byte, MaxDatagram)...) }},
		"magic":                     {0, set(magicAt, 'T')},
		"version":                   {0, set(versionAt, version-1)},
		"no kind":                   {2, set(kindAt, 0)},
		"unknown kind":              {2, set(kindAt, byte(End)+1)},
		"unknown mark":              {0, set(markAt, 4)},
		"mark of an answer":         {2, set(markAt, 1)},
		"number of an answer":       {2, set(seqAt, 1)},
		"unknown answer":            {0, set(answerKindAt, byte(flowctl.Ready)+1)},
		"unknown flow of data":      {0, set(statusAt, FlowCredits+1)},
		"unknown status of data":    {0, set(statusAt, (StatusSendOnly+1)<<flowBits)},
		"unknown status of an ask":  {1, set(statusAt, (StatusSendOnly+1)<<flowBits)},
		"unknown status, answer":    {2, set(statusAt, (StatusSendOnly+1)<<flowBits)},
		"port of data":              {0, set(contextAt, 1)},
		"frames of an ask":          {1, set(framesAt, 1)},
		"answer of a where":         {3, set(nextAt, 1)},
		"unknown flow of a where":   {3, set(statusAt, FlowCredits+1)},
		"no status of a here":       {4, set(statusAt, 0)},
		"unknown status of a here":  {4, set(statusAt, StatusEnded+1)},
		"port of who is not there":  {4, set(statusAt, StatusNotYet)},
		"here without a port":       {4, func(b []byte) []byte { b[contextAt], b[contextAt+1] = 0, 0; return b }},
		"no status of an end":       {5, set(statusAt, 0)},
		"unknown status of an end":  {5, set(statusAt, EndFlow+1)},
		"no frames":                 {0, func(b []byte) []byte { b[framesAt] = 0; return b[:HeadBytes] }},
		"one frame less":            {0, set(framesAt, 3)},
		"one frame more":            {0, set(framesAt, 5)},
		"a byte more":               {0, func(b []byte) []byte { return append(b, 0) }},
		"a byte less":               {0, func(b []byte) []byte { return b[:len(b)-1] }},
		"half a frame header":       {0, func(b []byte) []byte { b[framesAt] = 5; return append(b, 0, 0, 1) }},
		"frame longer than all":     {0, set(first+sizeAt+1, 0xff)},
		"unknown flag":              {0, set(first+flagsAt, 5)},
		"reserved byte":             {0, set(first+reservedAt, 1)},
		"long but no start":         {0, set(third+flagsAt, flagLong)},
		"total no more than frame":  {0, func(b []byte) []byte { binary.LittleEndian.PutUint32(b[third+totalAt:], 4); return b }},
		"rest without data":         {0, set(first+FrameBytes+2+flagsAt, 0)},
		"start without its total":   {0, func(b []byte) []byte { b[framesAt] = 5; return append(b, 0, 0, 3, 0) }},
		"a payload after an answer": {2, func(b []byte) []byte { return append(b, 2, 0, 1, 0, 'h', 'i') }},
		"guarded, a byte more":      {guarded, func(b []byte) []byte { return append(b, 0) }},
		"guarded, a byte less":      {guarded, func(b []byte) []byte { return b[:len(b)-1] }},
		"guarded, one frame less":   {guarded, set(framesAt, 1)},
		"guarded, one frame more":   {guarded, set(framesAt, 3)},
		"guarded, no frames":        {guarded, func(b []byte) []byte { b[framesAt] = 0; return b[:HeadBytes] }},
		"guarded, a short frame":    {guarded, func(b []byte) []byte { b[third-1] = LongFrame>>8 - 1; return b[:len(b)-1<<8] }},
		"guarded, a long one first": {guarded, func(b []byte) []byte { b[framesAt] = 3; return append(b, b[HeadBytes+FrameBytes+2:]...) }},
		"guarded, two long ones": {guarded, func(b []byte) []byte {
			b[framesAt] = 2
			long := b[HeadBytes+FrameBytes+2:]
			return append(append(b[:HeadBytes:HeadBytes], long...), long...)
		}},
		"guarded, short ones alone": {0, set(statusAt, guardedBit)},
		"guarded answer":            {2, set(statusAt, guardedBit)},
	} {
		t.Run(name, func(t *testing.T) {
			d := datagrams[c.kind]
			good := write(t, d.head, d.mark, d.parts)
			bad := signed(c.change(append([]byte(nil), good...)))
			if h, _, err := Parse(bad); !errors.Is(err, ErrFrame) || h != (Head{}) {
				t.Errorf("%+v, %v", h, err)
			}
		})
	}
	long := datagrams[guarded]
	for _, d := range [][]byte{write(t, data.head, data.mark, data.parts), write(t, answer.head, 0, nil), write(t, long.head, 0, long.parts)} {
		for bit := range 8 * covered(d) {
			d[bit/8] ^= 1 << (bit % 8)
			if _, _, err := Parse(d); err == nil {
				t.Errorf("bit %d flipped, and nobody noticed", bit)
			}
			d[bit/8] ^= 1 << (bit % 8)
		}
	}
}

// TestRoundTrip writes what can be written, and reads it back.
func TestRoundTrip(t *testing.T) {
	buf := make([]byte, MaxDatagram)
	rapid.Check(t, func(t *rapid.T) {
		h := Head{
			Kind: Data, Guarded: rapid.Bool().Draw(t, "guarded"), Job: rapid.Uint64().Draw(t, "job"), Channel: rapid.Uint32().Draw(t, "channel"),
			From: rapid.Uint32().Draw(t, "from"), To: rapid.Uint32().Draw(t, "to"),
			Data: flowctl.Data{Seq: flowctl.Seq(rapid.Uint32().Draw(t, "seq")), Tx: flowctl.Tx(rapid.Uint32().Draw(t, "tx"))},
			Answer: flowctl.Answer{
				Kind: flowctl.Kind(rapid.IntRange(0, int(lastAnswer)).Draw(t, "answer")), Room: rapid.Uint16().Draw(t, "room"),
				Next: flowctl.Seq(rapid.Uint32().Draw(t, "next")), Echo: flowctl.Tx(rapid.Uint32().Draw(t, "echo")),
			},
		}
		mark := flowctl.Mark(rapid.IntRange(0, int(marksKnown)).Draw(t, "mark"))
		limit := rapid.IntRange(MinDatagram, MaxDatagram).Draw(t, "limit")
		var w Writer
		w.Begin(buf, limit, &h)
		var added []Frame
		for _, size := range rapid.SliceOfN(rapid.OneOf(rapid.IntRange(0, 20), rapid.IntRange(0, MaxFrame)), 1, 20).Draw(t, "sizes") {
			f := Frame{Start: rapid.Bool().Draw(t, "start"), Data: bytes.Repeat([]byte{byte(len(added))}, size)}
			if f.Start {
				f.Total = size + max(0, rapid.IntRange(-10, 10).Draw(t, "more"))
			}
			room := w.Room()
			ok := w.Add(f.Total, f.Start, f.Data)
			if ok {
				added = append(added, f)
			}
			empty := size == 0 && (!f.Start || f.Total > size)
			if empty && ok || !empty && size <= room && !ok {
				t.Fatalf("%d bytes of %d, room %d: %v", size, f.Total, room, ok)
			}
		}
		n := w.Finish(mark)
		if len(added) == 0 {
			if n != 0 {
				t.Fatalf("%d bytes without a frame", n)
			}
			return
		}
		h.Data.Mark, h.Frames = mark, uint16(len(added))
		h.Guarded = h.Guarded && len(added[len(added)-1].Data) >= LongFrame
		got, frames, err := Parse(buf[:n])
		if err != nil || got != h || n > limit {
			t.Fatalf("%d bytes: got %+v, %v; want %+v", n, got, err, h)
		}
		for _, want := range added {
			f, ok := frames.Next()
			if !ok || f.Start != want.Start || f.Total != want.Total || !bytes.Equal(f.Data, want.Data) {
				t.Fatalf("got %v, want %v", f, want)
			}
		}
		if _, ok := frames.Next(); ok {
			t.Fatal("one frame more")
		}
	})
}

// FuzzParse: whatever comes, with its CRC right, is refused or is what a Writer would have written.
func FuzzParse(f *testing.F) {
	for _, d := range datagrams {
		f.Add(write(f, d.head, d.mark, d.parts))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if _, frames, err := Parse(data); err != nil && len(frames.rest) > 0 {
			t.Fatal("frames of a datagram that was refused")
		}
		h, frames, err := Parse(signed(data))
		if err != nil {
			if h != (Head{}) || len(frames.rest) > 0 {
				t.Fatal("parts of a datagram that was refused")
			}
			return
		}
		buf, count := make([]byte, len(data)), 0
		var w Writer
		w.Begin(buf, len(data), &h)
		for p, ok := frames.Next(); ok; p, ok = frames.Next() {
			if !w.Add(p.Total, p.Start, p.Data) {
				t.Fatalf("frame %d cannot be written: %+v", count, p)
			}
			count++
		}
		if count != int(h.Frames) {
			t.Fatalf("%d frames, the header says %d", count, h.Frames)
		}
		if n := w.Finish(0); !bytes.Equal(buf[:n], data) {
			t.Fatalf("got  %x\nmade %x", data, buf[:n])
		}
	})
}

func TestCodecAllocatesNothing(t *testing.T) {
	buf, payload := make([]byte, MaxDatagram), make([]byte, 100)
	var w Writer
	h := Head{Kind: Data, Job: 1}
	if n := testing.AllocsPerRun(100, func() {
		w.Begin(buf, MaxDatagram, &h)
		w.Add(1000, true, payload)
		w.Add(0, false, payload)
		_, frames, err := Parse(buf[:w.Finish(flowctl.MarkAsk)])
		for _, ok := frames.Next(); ok; _, ok = frames.Next() {
		}
		if err != nil {
			t.Error(err)
		}
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
	bad := signed(append(write(t, datagrams[0].head, 0, datagrams[0].parts), 1))
	if n := testing.AllocsPerRun(100, func() { _, _, _ = Parse(bad) }); n > 0 {
		t.Errorf("%v allocations for a bad datagram", n)
	}
}
