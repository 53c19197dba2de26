package udp

import (
	"bytes"
	"testing"

	"score/channels/link"
)

func TestOne(t *testing.T) {
	a, b := newPort(t, "127.0.0.1"), newPort(t, "127.0.0.1")
	n := copy(a.Buffer(), "hello")
	a.Queue(b.Local(), n)
	a.Flush()
	for got := false; !got; {
		b.Receive(func(from link.Address, data []byte) {
			got = true
			if from != a.Local() || !bytes.Equal(data, []byte("hello")) {
				t.Errorf("%v: %q", from, data)
			}
		})
	}
}
