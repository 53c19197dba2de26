package api

import (
	"fmt"
	"net"
	"net/netip"
)

// CheckLoopback refuses an address, host:port, that other hosts could reach: without certificates
// nothing is encrypted, and no daemon may listen there. The error names the address and what to use
// instead; the caller adds its key.
func CheckLoopback(address, instead string) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("%q is not host:port", address)
	}
	if host == "localhost" {
		return nil
	}
	if ip, err := netip.ParseAddr(host); err == nil && ip.IsLoopback() {
		return nil
	}
	return fmt.Errorf(
		"%q can be reached from other hosts, and without certificates connections are not encrypted; use %s, or make certificates with 'scored init'",
		address,
		instead,
	)
}
