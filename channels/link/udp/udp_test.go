package udp

import (
	"bytes"
	"net/netip"
	"testing"

	"score/channels/link"
)

func newPort(t testing.TB, addr string) *Port {
	t.Helper()
	file, at, err := Listen(netip.MustParseAddr(addr))
	if err != nil {
		t.Fatal(err)
	}
	p, err := New(file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	if p.Local() != link.AddressOf(at) {
		t.Fatalf("bound to %v, Listen said %v", p.Local(), at)
	}
	return p
}

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
