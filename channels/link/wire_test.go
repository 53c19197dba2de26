package link

import (
	"bytes"
	"encoding/hex"
	"score/flowctl"
	"strings"
	"testing"
)

// part is a frame as it is added.
type part struct {
	total int
	start bool
	data  string
}

// datagrams are one of each kind, with the bytes that they have in version 3.
var datagrams = []struct {
	name  string
	head  Head
	mark  flowctl.Mark
	parts []part
	bytes string
}{
	{
		name: "a whole message, the start of a longer one and the rest of another",
		head: Head{
			Kind: Data, Job: 0x0102030405060708, Channel: 9, From: 10, To: 11, Frames: 4,
			Data:   flowctl.Data{Seq: 12, Tx: 13, Mark: flowctl.MarkAsk | flowctl.MarkWant},
			Answer: flowctl.Answer{Kind: flowctl.Gap, Room: 14, Next: 15, Echo: 16},
		},
		mark:  flowctl.MarkAsk | flowctl.MarkWant,
		parts: []part{{2, true, "hi"}, {0, true, ""}, {70000, true, "long"}, {0, false, "end"}},
		bytes: `64a74141 53030103 0807060504030201 09000000 0a000000 0b000000 0400 00 02
			0c000000 0d000000 0f000000 10000000 0e00 5100
			0200 01 00 6869  0000 01 00  0400 03 00 70110100 6c6f6e67  0300 00 00 656e64`,
	},
	{
		name:  "ask",
		head:  Head{Kind: Ask, Job: 1, From: 2, To: 3, Data: flowctl.Data{Seq: 4, Tx: 5, Mark: flowctl.MarkAsk}, Answer: flowctl.Answer{Next: 6}},
		mark:  flowctl.MarkAsk,
		bytes: `40cec95f 53030201 0100000000000000 00000000 02000000 03000000 0000 00 00 04000000 05000000 06000000 00000000 0000 3400`,
	},
	{
		name:  "answer",
		head:  Head{Kind: Answer, Job: 1, From: 2, To: 3, Answer: flowctl.Answer{Kind: flowctl.Ready, Room: 4, Next: 5, Echo: 6}},
		bytes: `ca36b237 53030300 0100000000000000 00000000 02000000 03000000 0000 00 04 00000000 00000000 05000000 06000000 0400 3400`,
	},
	{
		name:  "where",
		head:  Head{Kind: Where, Job: 1, Channel: 7, From: 2, To: 3},
		bytes: `117d9061 53030400 0100000000000000 07000000 02000000 03000000 0000 00 00 00000000 00000000 00000000 00000000 0000 3400`,
	},
	{
		name:  "here",
		head:  Head{Kind: Here, Job: 1, From: 2, To: 3, Status: StatusHere, Port: 0x1234},
		bytes: `e7679717 53030500 0100000000000000 00000000 02000000 03000000 0000 01 00 00000000 00000000 00000000 00000000 0000 3412`,
	},
	{
		name:  "end",
		head:  Head{Kind: End, Job: 1, From: 2, To: 3, Status: EndDied},
		bytes: `9141fcc2 53030600 0100000000000000 00000000 02000000 03000000 0000 02 00 00000000 00000000 00000000 00000000 0000 3400`,
	},
	{
		name:  "answer from a socket that only sends",
		head:  Head{Kind: Answer, Job: 1, From: 2, To: 3, Status: StatusSendOnly, Answer: flowctl.Answer{Kind: flowctl.Ready, Room: 4, Next: 5, Echo: 6}},
		bytes: `bf70b1e4 53030300 0100000000000000 00000000 02000000 03000000 0000 10 04 00000000 00000000 05000000 06000000 0400 3400`,
	},
	{
		name:  "answer with credits",
		head:  Head{Kind: Answer, Job: 1, From: 2, To: 3, Flow: FlowCredits, Answer: flowctl.Answer{Kind: flowctl.Ack, Room: 4, Next: 5, Echo: 6}},
		bytes: `ca2f8e5f 53030300 0100000000000000 00000000 02000000 03000000 0000 01 00 00000000 00000000 05000000 06000000 0400 3400`,
	},
	{
		name:  "a short frame and a long one, guarded",
		head:  Head{Kind: Data, Job: 1, From: 2, To: 3, Frames: 2, Guarded: true, Status: StatusSendOnly},
		parts: []part{{2, true, "hi"}, {5000, true, strings.Repeat("x", LongFrame)}},
		bytes: `b1916727 53030100 0100000000000000 00000000 02000000 03000000 0200 90 00 00000000 00000000 00000000 00000000 0000 4210
			0200 01 00 6869  0010 03 00 88130000` + strings.Repeat("78", LongFrame),
	},
	{
		name:  "end for another flow control",
		head:  Head{Kind: End, Job: 1, From: 2, To: 3, Status: EndFlow},
		bytes: `25afe99e 53030600 0100000000000000 00000000 02000000 03000000 0000 03 00 00000000 00000000 00000000 00000000 0000 3400`,
	},
}

// write makes a datagram, in memory that was used before.
func write(t testing.TB, h Head, mark flowctl.Mark, parts []part) []byte {
	t.Helper()
	buf := bytes.Repeat([]byte{0xee}, MaxDatagram)
	h.Data.Mark = 0
	var w Writer
	w.Begin(buf, MaxDatagram, &h)
	for _, p := range parts {
		if !w.Add(p.total, p.start, []byte(p.data)) {
			t.Fatalf("no room for %v", p)
		}
	}
	return buf[:w.Finish(mark)]
}

func TestPinnedBytes(t *testing.T) {
	for _, c := range datagrams {
		t.Run(c.name, func(t *testing.T) {
			got := write(t, c.head, c.mark, c.parts)
			want, err := hex.DecodeString(strings.Join(strings.Fields(c.bytes), ""))
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, want) {
				t.Errorf("got  %x\nwant %x", got, want)
			}
			h, frames, err := Parse(want)
			if err != nil || h != c.head {
				t.Fatalf("%+v, %v", h, err)
			}
			for _, p := range c.parts {
				want := Frame{Total: p.total, Start: p.start, Data: []byte(p.data)}
				if f, ok := frames.Next(); !ok || f.Total != want.Total || f.Start != want.Start || !bytes.Equal(f.Data, want.Data) {
					t.Errorf("frame %+v, want %+v", f, want)
				}
			}
			if f, ok := frames.Next(); ok {
				t.Errorf("one more frame: %+v", f)
			}
		})
	}
}

// TestBorrowedFrame: a datagram whose last frame was borrowed is the same as with a copy of that
// frame.
func TestBorrowedFrame(t *testing.T) {
	data := bytes.Repeat([]byte{7}, 2*LongFrame)
	for _, guarded := range []bool{true, false} {
		h := Head{Kind: Data, Job: 1, Guarded: guarded}
		want := write(t, h, flowctl.MarkAsk, []part{{3, true, "abc"}, {len(data) + 1, true, string(data)}})
		var w Writer
		buf := make([]byte, MaxDatagram)
		w.Begin(buf, len(want), &h)
		if !w.Add(3, true, []byte("abc")) || w.Borrow(len(data), true, data[:LongFrame-1]) || w.Borrow(len(data)+1, true, append(data, 0, 0)) {
			t.Fatal("a frame that is short, or has no room, was borrowed")
		}
		if !w.Borrow(len(data)+1, true, data) || w.Room() >= 0 || w.Add(0, true, nil) {
			t.Fatal("not the last frame")
		}
		got := append(buf[:w.Finish(flowctl.MarkAsk)], data...)
		if !bytes.Equal(got, want) {
			t.Errorf("guarded %v: the headers are %x, want %x", guarded, got[:HeadBytes], want[:HeadBytes])
		}
	}
}

// TestUnusedFields writes a header with all fields for each kind: only those of the kind are on the
// wire.
func TestUnusedFields(t *testing.T) {
	full := Head{
		Job: 1, Data: flowctl.Data{Seq: 2, Tx: 3, Mark: flowctl.MarkAsk}, Answer: flowctl.Answer{Kind: flowctl.Full, Room: 4, Next: 5, Echo: 6},
		Frames: 7, Status: StatusHere, Port: 8,
	}
	for kind := Ask; kind <= End; kind++ {
		full.Kind = kind
		if _, _, err := Parse(write(t, full, flowctl.MarkWant, nil)); err != nil {
			t.Errorf("kind %d: %v", kind, err)
		}
	}
}

func TestWriterLimits(t *testing.T) {
	buf, head := make([]byte, MaxDatagram), Head{Kind: Data, Job: 1}
	var w Writer
	w.Begin(buf, MaxDatagram, &head)
	if w.Room() != MaxFrame {
		t.Errorf("room %d, want %d", w.Room(), MaxFrame)
	}
	if n := w.Finish(0); n != 0 {
		t.Errorf("%d bytes without a frame", n)
	}
	for name, ok := range map[string]bool{
		"part without data":     w.Add(10, true, nil),
		"rest without data":     w.Add(10, false, nil),
		"longer than its total": w.Add(1, true, []byte("12")),
		"too long":              w.Add(MaxDatagram, true, buf[:MaxFrame+1]),
		"negative":              w.Add(-1, true, []byte("1")),
	} {
		if ok {
			t.Errorf("%s was added", name)
		}
	}
	if !w.Add(MaxDatagram, true, buf[:MaxFrame]) || w.Room() >= 0 || w.Add(0, true, nil) {
		t.Errorf("room %d in a full datagram", w.Room())
	}
	if n := w.Finish(0); n != MaxDatagram {
		t.Errorf("%d bytes, want %d", n, MaxDatagram)
	}
	w.Begin(buf, 100, &head)
	for w.Add(1, true, []byte{1}) {
	}
	if n := w.Finish(0); n > 100 || n < 100-FrameBytes {
		t.Errorf("%d bytes, limit 100", n)
	}
	w.Begin(buf, 100, &Head{Kind: Answer})
	if w.Room() >= 0 || w.Add(1, true, []byte{1}) {
		t.Error("an answer has a frame")
	}
}

// TestLargeFrame: 32 KiB of a message and the headers fit one datagram.
func TestLargeFrame(t *testing.T) {
	var w Writer
	w.Begin(make([]byte, MaxDatagram), MaxDatagram, &Head{Kind: Data})
	if room := w.Room(); room < 32<<10 {
		t.Errorf("room %d", room)
	}
	if MaxFrame >= 1<<16 {
		t.Error("a frame's length does not fit its field")
	}
}
