package udp

import (
	"net/netip"
	"score/channels/link"
	"testing"
)

func TestSizeFor(t *testing.T) {
	v4, v6 := link.AddressOf(netip.MustParseAddrPort("192.0.2.1:1")), link.AddressOf(netip.MustParseAddrPort("[2001:db8::1]:1"))
	for _, c := range []struct {
		to        link.Address
		mtu, want int
	}{
		{v4, 1500, 1472},
		{v6, 1500, 1452},
		{v4, 9000, 8972},
		{v6, 1280, 1232},
		{v4, 0, 1472},
		{v6, 0, 1452},
		{v4, 68, link.MinDatagram},
		{v4, 65536, link.MaxDatagram},
		{v6, 65536, link.MaxDatagram},
	} {
		if got := sizeFor(c.to, c.mtu); got != c.want {
			t.Errorf("%v, MTU %d: %d, want %d", c.to, c.mtu, got, c.want)
		}
	}
}

// TestNarrowed: a size is believed to be less when the kernel refused it, even if it says
// otherwise.
func TestNarrowed(t *testing.T) {
	p := newPort(t, "127.0.0.1")
	to := p.Local()
	for _, c := range []struct{ refused, want int }{{40000, 1472}, {1472, 1471}, {link.MinDatagram, link.MinDatagram}} {
		p.onTooLarge(to, c.refused)
		if got := p.Size(to); got != c.want {
			t.Errorf("refused %d bytes: %d, want %d", c.refused, got, c.want)
		}
	}
	same := link.AddressOf(netip.AddrPortFrom(to.AddrPort().Addr(), 1))
	if got := p.Size(same); got != link.MinDatagram {
		t.Errorf("another port of the host: %d", got)
	}
}

// TestPathsAreBounded: more hosts than are remembered.
func TestPathsAreBounded(t *testing.T) {
	p := newPort(t, "127.0.0.1")
	for i := range 2 * maxPaths {
		p.learn(link.AddressOf(netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)}), 0)), 1000)
		if len(p.paths.host) > maxPaths {
			t.Fatalf("%d hosts", len(p.paths.host))
		}
	}
}
