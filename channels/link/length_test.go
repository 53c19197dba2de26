package link

import (
	"bytes"
	"testing"
)

// TestLength: joined datagrams can be taken apart; what says impossible things is left whole.
func TestLength(t *testing.T) {
	var w Writer
	make := func(h Head, payload int) []byte {
		buf := make([]byte, 2000)
		w.Begin(buf, len(buf), &h)
		if h.Kind == Data {
			w.Add(payload, true, buf[1500:1500+payload])
		}
		return buf[:w.Finish(0)]
	}
	parts := [][]byte{
		make(Head{Kind: Data}, 100), make(Head{Kind: Ask}, 0), make(Head{Kind: Here, Status: StatusHere, Port: 40000}, 0),
		make(Head{Kind: End, Status: EndDied}, 0), make(Head{Kind: Data}, 8),
	}
	joined := bytes.Join(parts, nil)
	for i, part := range parts {
		n := Length(joined)
		if !bytes.Equal(joined[:n], part) {
			t.Fatalf("part %d: %d bytes, want %d", i, n, len(part))
		}
		if _, _, err := Parse(joined[:n]); err != nil {
			t.Errorf("part %d: %v", i, err)
		}
		joined = joined[n:]
	}
	short := parts[1][:HeadBytes-1]
	if Length(short) != len(short) || Length(nil) != 0 {
		t.Error("less than a header is taken apart")
	}
	for _, n := range []byte{0, HeadBytes - 1, HeadBytes + 1} {
		wrong := bytes.Clone(parts[1])
		wrong[contextAt] = n
		if Length(wrong) != len(wrong) {
			t.Errorf("length %d is believed", n)
		}
	}
}
