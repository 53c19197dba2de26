package socket

import (
	"encoding/binary"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// appendFrame appends a frame of zeros of the connection as a whole.
func appendFrame(out []byte, kind byte, length int) []byte {
	out = binary.BigEndian.AppendUint32(out, uint32(length)<<8|uint32(kind))
	return append(out, make([]byte, frameHead-4+length)...)
}

// The count does not depend on where reads cut what comes.
func TestControlFramesInPieces(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sent, want := []byte(clientPreface), len(clientPreface)
		for range rapid.IntRange(0, 20).Draw(t, "frames") {
			kind := rapid.SampledFrom([]byte{frameData, 1, 6}).Draw(t, "kind")
			length := rapid.SampledFrom([]int{0, 1, 8, 300, 70000}).Draw(t, "length")
			sent = appendFrame(sent, kind, length)
			if kind != frameData || length == 0 {
				want += frameHead + length
			}
		}
		var c controlFrames
		got := 0
		for len(sent) > 0 {
			n := min(rapid.IntRange(1, 500).Draw(t, "read"), len(sent))
			got += c.count(sent[:n])
			sent = sent[n:]
		}
		if got != want {
			t.Fatalf("%d bytes of control frames, want %d", got, want)
		}
	})
}

func TestOtherProtocolCounts(t *testing.T) {
	var c controlFrames
	text := "PRI * HTTP/1.1\r\n" + strings.Repeat("x", 1000)
	if got := c.count([]byte(text)); got != len(text) {
		t.Errorf("%d bytes of %d", got, len(text))
	}
}
