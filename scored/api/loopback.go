package api

import (
	"fmt"
	"net"
	"net/netip"
)

// CheckLoopbackOf is CheckLoopback for the address in a key of a configuration, which the error
// names.
func CheckLoopbackOf(key, address string) error {
	if err := CheckLoopback(address); err != nil {
		return fmt.Errorf("%s = %w", key, err)
	}
	return nil
}

// CheckLoopback refuses an address, host:port, that other hosts could reach: without certificates
// nothing is encrypted, and no daemon may listen there.
func CheckLoopback(address string) error {
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
		"%q can be reached from other hosts, and without certificates connections are not encrypted; "+
			"use 127.0.0.1 or another address of loopback, or make certificates with 'scored init'",
		address,
	)
}
