package daemon

import (
	"context"
	"net"
	"net/netip"
	"time"
)

// nameTimeout bounds the look-up of the host's own name, which should need no network.
const nameTimeout = 2 * time.Second

// lookUp returns the addresses of a name or of a numeric address, none if there are none.
func lookUp(ctx context.Context, name string) []netip.Addr {
	ctx, cancel := context.WithTimeout(ctx, nameTimeout)
	defer cancel()
	found, err := net.DefaultResolver.LookupNetIP(ctx, "ip", name)
	if err != nil {
		return nil
	}
	for i := range found {
		found[i] = found[i].Unmap()
	}
	return found
}

// firstReachable returns the first address that other hosts can reach, else the first address.
func firstReachable(found []netip.Addr) (first netip.Addr) {
	for _, a := range found {
		if !a.IsLoopback() {
			return a
		}
	}
	if len(found) > 0 {
		first = found[0]
	}
	return first
}

// resolvesToLoopback reports whether a host's name resolves to loopback on the host itself, as
// where /etc/hosts maps it to 127.0.1.1.
func resolvesToLoopback(ctx context.Context, name string) bool {
	return firstReachable(lookUp(ctx, name)).IsLoopback()
}

// withAddress replaces the host's name in host:port by its address, because other nodes may not
// know the name. A name without an address stays.
func withAddress(ctx context.Context, listen string) string {
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return listen
	}
	at := firstReachable(lookUp(ctx, host))
	if !at.IsValid() {
		return listen
	}
	return net.JoinHostPort(at.String(), port)
}
