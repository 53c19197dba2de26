package udp

import (
	"net/netip"
	"score/channels/link"
	"testing"

	"golang.org/x/sys/unix"
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

// withoutOffload makes the ports what they are on a kernel that has neither UDP_SEGMENT nor
// UDP_GRO.
func withoutOffload(t testing.TB, ports ...*Port) {
	t.Helper()
	for _, p := range ports {
		p.gso = false
		if p.gro {
			if err := unix.SetsockoptInt(p.fd, unix.IPPROTO_UDP, unix.UDP_GRO, 0); err != nil {
				t.Fatal(err)
			}
			p.gro = false
		}
	}
}
