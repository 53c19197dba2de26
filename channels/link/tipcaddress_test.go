package link

import (
	"net/netip"
	"testing"
)

func TestTIPCAddress(t *testing.T) {
	name, socket := NameAddress(18888, 4711), SocketAddress(0x5f3a0001, 2812345678)
	if name.String() != "18888:4711" || socket.String() != "5f3a0001/2812345678" {
		t.Errorf("%v, %v", name, socket)
	}
	if kind, instance, ok := name.Name(); !ok || kind != 18888 || instance != 4711 {
		t.Errorf("name %d:%d, %v", kind, instance, ok)
	}
	if node, reference, ok := socket.Socket(); !ok || node != 0x5f3a0001 || reference != 2812345678 {
		t.Errorf("socket %x/%d, %v", node, reference, ok)
	}
	if FromRaw(socket.Raw()) != socket {
		t.Errorf("from its bytes: %v", FromRaw(socket.Raw()))
	}
	if !FromRaw(name.Raw()).None() {
		t.Error("a datagram comes from a name")
	}
	if socket.Host() != SocketAddress(0x5f3a0001, 9).Host() || socket.Host() == SocketAddress(1, 2812345678).Host() {
		t.Error("its host is its node")
	}
}

// TestTIPCIsNotIP: addresses of the two families are as long as each other.
func TestTIPCIsNotIP(t *testing.T) {
	ip := AddressOf(netip.MustParseAddrPort("192.0.2.1:4000"))
	if _, _, ok := ip.Name(); ok || ip.IsTIPC() {
		t.Error("an IP address is a name")
	}
	if _, _, ok := ip.Socket(); ok {
		t.Error("an IP address is a TIPC socket")
	}
	for _, a := range []Address{NameAddress(1, 2), SocketAddress(1, 2)} {
		if a.AddrPort().IsValid() || a.Is6() || a.None() || !a.IsTIPC() {
			t.Errorf("%v", a)
		}
	}
}

func TestTransport(t *testing.T) {
	for word, want := range map[string]Transport{"": UDP, "udp": UDP, "tipc": TIPC} {
		t.Setenv(EnvTransport, word)
		if got, err := TransportFromEnvironment(); err != nil || got != want || word != "" && got.String() != word {
			t.Errorf("%q: %v, %v", word, got, err)
		}
	}
	t.Setenv(EnvTransport, "tcp")
	if _, err := TransportFromEnvironment(); err == nil || err.Error() != `SCORE_LINK: link: "tcp" is no link between nodes; there are "udp" and "tipc"` {
		t.Error(err)
	}
}
