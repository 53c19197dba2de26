package daemon

import (
	"net/netip"
	"testing"
)

func TestFirstReachable(t *testing.T) {
	near, far, farther := netip.MustParseAddr("127.0.1.1"), netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("2001:db8::1")
	for _, test := range []struct {
		found []netip.Addr
		want  netip.Addr
	}{
		{nil, netip.Addr{}},
		{[]netip.Addr{near}, near},
		{[]netip.Addr{near, far, farther}, far},
	} {
		if got := firstReachable(test.found); got != test.want {
			t.Errorf("%v: %v", test.found, got)
		}
	}
}

func TestResolvesToLoopback(t *testing.T) {
	for name, want := range map[string]bool{"127.0.1.1": true, "::1": true, "192.0.2.1": false, "no such name": false} {
		if got := resolvesToLoopback(t.Context(), name); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestWithAddress(t *testing.T) {
	for listen, want := range map[string]string{
		"192.0.2.1:7421": "192.0.2.1:7421", "[::1]:0": "[::1]:0", "no such name:1": "no such name:1", "none": "none", ":7421": ":7421",
	} {
		if got := withAddress(t.Context(), listen); got != want {
			t.Errorf("%s: %s", listen, got)
		}
	}
}
