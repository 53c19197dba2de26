package sim

import (
	"score/flowctl"
	"testing"
)

func sample() Frame {
	return Frame{
		Kind: FrameData, Job: 1, Channel: 2, From: 3, To: 4,
		Data:    flowctl.Data{Seq: 1<<32 - 1, Tx: 7, Mark: flowctl.MarkAsk},
		Answer:  flowctl.Answer{Kind: flowctl.Gap, Room: 9, Next: 10, Echo: 11},
		Payload: Message{Job: 1, Channel: 2, From: 3, To: 4, Index: 5}.Payload(),
	}
}

func TestFrameRoundTrip(t *testing.T) {
	f := sample()
	var got Frame
	if !got.Decode(encoded(&f)) || got != f {
		t.Errorf("decoded %+v, want %+v", got, f)
	}
	if m := got.Payload.Message(); m.Payload() != f.Payload {
		t.Errorf("message %+v encodes differently", m)
	}
}

// TestEveryDamagedBitIsSeen: the world relies on corruption being loss.
func TestEveryDamagedBitIsSeen(t *testing.T) {
	f := sample()
	b := encoded(&f)
	for i := range len(b) * 8 {
		b[i/8] ^= 1 << (i % 8)
		if new(Frame).Decode(b) {
			t.Errorf("bit %d flipped, and nobody noticed", i)
		}
		b[i/8] ^= 1 << (i % 8)
	}
}

func FuzzFrame(f *testing.F) {
	s := sample()
	f.Add(encoded(&s))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		var f, g Frame
		if f.Decode(b) && (!g.Decode(encoded(&f)) || f != g) {
			t.Errorf("%x decodes to %+v, and that encodes to %+v", b, f, g)
		}
	})
}
