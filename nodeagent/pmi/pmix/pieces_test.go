package pmix

import (
	"bytes"
	"encoding/binary"
	"score/nodeagent/pmi/pmix/message"
	"testing"
	"time"
)

// A byte of a message costs as much when megabytes of it have come as at its beginning: a rank that
// sends the longest message byte by byte would otherwise keep its steward busy for hours.
func TestPiecesOfALongMessage(t *testing.T) {
	const pieces, most = 2000, 100 // most is how much longer it may take
	const tries = 5                // a machine that is busy with others delays some of them
	feed := func(before int) time.Duration {
		h := newHost(t, 0)
		id, _ := h.server.Accept()
		c := h.server.conns[id]
		c.rank = 0
		header := make([]byte, message.HeaderLen)
		binary.BigEndian.PutUint32(header[8:], MaxMessage)
		for _, data := range [][]byte{header, bytes.Repeat([]byte{0}, before)} {
			if err := c.feed(h.server, data); err != nil {
				t.Fatal(err)
			}
		}
		begin := time.Now()
		for range pieces {
			if err := c.feed(h.server, []byte{0}); err != nil {
				t.Fatal(err)
			}
		}
		if got, want := len(c.rest), message.HeaderLen+before+pieces; got != want || h.server.pending != want {
			t.Fatalf("%d bytes are kept, and %d counted, of %d", got, h.server.pending, want)
		}
		return time.Since(begin)
	}
	short := max(feed(1), time.Millisecond)
	long := feed(MaxMessage - 2*pieces)
	for try := 1; long > most*short && try < tries; try++ {
		long = feed(MaxMessage - 2*pieces)
	}
	if long > most*short {
		t.Errorf("the bytes of a long message took %v, those of a short one %v", long, short)
	}
}
