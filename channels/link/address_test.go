package link

import (
	"net/netip"
	"testing"

	"golang.org/x/sys/unix"
)

func TestAddress(t *testing.T) {
	for _, c := range []struct {
		in, out string
		length  int
	}{
		{"192.0.2.1:4000", "192.0.2.1:4000", unix.SizeofSockaddrInet4},
		{"[2001:db8::1]:65535", "[2001:db8::1]:65535", unix.SizeofSockaddrInet6},
		{"[fe80::1%7]:1", "[fe80::1%7]:1", unix.SizeofSockaddrInet6},
		{"[fe80::1%lo]:1", "[fe80::1%1]:1", unix.SizeofSockaddrInet6},
		{"[::ffff:192.0.2.1]:4000", "192.0.2.1:4000", unix.SizeofSockaddrInet4},
		{"0.0.0.0:0", "0.0.0.0:0", unix.SizeofSockaddrInet4},
		{"[fe80::1%no such interface]:1", "none", 0},
	} {
		a := AddressOf(netip.MustParseAddrPort(c.in))
		if a.String() != c.out || len(a.Raw()) != c.length || a.None() != (c.length == 0) || a.Is6() != (c.length == unix.SizeofSockaddrInet6) {
			t.Errorf("%s: %v, %d bytes", c.in, a, len(a.Raw()))
		}
		if back := FromRaw(a.Raw()); back != a {
			t.Errorf("%s: from its bytes: %v", c.in, back)
		}
		if !a.None() && AddressOf(a.AddrPort()) != a {
			t.Errorf("%s: from its library form: %v", c.in, AddressOf(a.AddrPort()))
		}
		if host := a.Host(); host.AddrPort().Port() != 0 || host.AddrPort().Addr() != a.AddrPort().Addr() {
			t.Errorf("%s: its host is %v", c.in, host)
		}
	}
	if AddressOf(netip.AddrPort{}) != (Address{}) {
		t.Error("no address, and not the zero one")
	}
	for _, raw := range [][]byte{nil, {1}, make([]byte, unix.SizeofSockaddrInet4), {unix.AF_INET, 0, 1, 2}, {unix.AF_UNIX, 0, '/', 'x'}, make([]byte, 100)} {
		if a := FromRaw(raw); !a.None() {
			t.Errorf("%v is %v", raw, a)
		}
	}
}
