package link

import (
	"encoding/binary"
	"net"
	"net/netip"
	"strconv"

	"golang.org/x/sys/unix"
)

// Address is a socket address (IPv4, IPv6 or TIPC) as the kernel has it, so that it costs nothing
// per datagram. It is comparable; the zero Address is none.
type Address struct {
	raw [unix.SizeofSockaddrInet6]byte
	len uint8
}

// Places of the parts in sockaddr_in and sockaddr_in6.
const (
	portAt  = 2
	host4At = 4
	host6At = 8
	scopeAt = 24
)

// AddressOf returns the address, an IPv4 one that is mapped into IPv6 as IPv4. It is none
// if ap is not valid or names a zone that is no interface of this system.
func AddressOf(ap netip.AddrPort) (a Address) {
	host := ap.Addr().Unmap()
	switch {
	case host.Is4():
		a.len = unix.SizeofSockaddrInet4
		binary.NativeEndian.PutUint16(a.raw[:], unix.AF_INET)
		h := host.As4()
		copy(a.raw[host4At:], h[:])
	case host.Is6():
		scope, ok := scopeOf(host.Zone())
		if !ok {
			return Address{}
		}
		a.len = unix.SizeofSockaddrInet6
		binary.NativeEndian.PutUint16(a.raw[:], unix.AF_INET6)
		h := host.As16()
		copy(a.raw[host6At:], h[:])
		binary.NativeEndian.PutUint32(a.raw[scopeAt:], scope)
	default:
		return Address{}
	}
	binary.BigEndian.PutUint16(a.raw[portAt:], ap.Port())
	return a
}

// scopeOf is the number of the interface that the zone names.
func scopeOf(zone string) (scope uint32, ok bool) {
	if zone == "" {
		return 0, true
	}
	if n, err := strconv.ParseUint(zone, 10, 32); err == nil {
		return uint32(n), true
	}
	i, err := net.InterfaceByName(zone)
	if err != nil {
		return 0, false
	}
	return uint32(i.Index), true
}

// FromRaw returns the address whose sockaddr_in, sockaddr_in6 or sockaddr_tipc (of a socket) raw
// is, or none if it is another's.
func FromRaw(raw []byte) (a Address) {
	if len(raw) < portAt {
		return Address{}
	}
	family := binary.NativeEndian.Uint16(raw)
	if family == unix.AF_INET && len(raw) == unix.SizeofSockaddrInet4 {
		*(*[unix.SizeofSockaddrInet4]byte)(a.raw[:]) = [unix.SizeofSockaddrInet4]byte(raw)
		a.len = unix.SizeofSockaddrInet4
		return a
	}
	if family == unix.AF_INET6 && len(raw) == unix.SizeofSockaddrInet6 {
		return Address{raw: [unix.SizeofSockaddrInet6]byte(raw), len: unix.SizeofSockaddrInet6}
	}
	return fromTIPC(raw)
}

// Raw is the structure that the kernel takes, which must not be changed. It is empty if a is none.
func (a *Address) Raw() []byte { return a.raw[:a.len] }

// None reports whether this is the zero Address.
func (a Address) None() bool { return a.len == 0 }

// Is6 reports whether this is an IPv6 address.
func (a Address) Is6() bool { return a.len == unix.SizeofSockaddrInet6 }

// Host is the address without its port: of a TIPC socket, its node.
func (a Address) Host() Address {
	if a.IsTIPC() {
		return a.tipcHost()
	}
	a.raw[portAt], a.raw[portAt+1] = 0, 0
	return a
}

// WithPort returns the address, which must be an IP address, with another port.
func (a Address) WithPort(port uint16) Address {
	binary.BigEndian.PutUint16(a.raw[portAt:], port)
	return a
}

// AddrPort is the address in the library's form; its zone is a number. It is not valid for TIPC.
func (a Address) AddrPort() netip.AddrPort {
	if a.IsTIPC() {
		return netip.AddrPort{}
	}
	port := binary.BigEndian.Uint16(a.raw[portAt:])
	switch a.len {
	case unix.SizeofSockaddrInet4:
		return netip.AddrPortFrom(netip.AddrFrom4([4]byte(a.raw[host4At:])), port)
	case unix.SizeofSockaddrInet6:
		host := netip.AddrFrom16([16]byte(a.raw[host6At:]))
		if scope := binary.NativeEndian.Uint32(a.raw[scopeAt:]); scope != 0 {
			host = host.WithZone(strconv.FormatUint(uint64(scope), 10))
		}
		return netip.AddrPortFrom(host, port)
	}
	return netip.AddrPort{}
}

// String is like 192.0.2.1:4000 or [2001:db8::1]:4000, like 18888:4711 for a TIPC name, and like
// 5f3a0001/2812345678 for a TIPC socket.
func (a Address) String() string {
	switch {
	case a.None():
		return "none"
	case a.IsTIPC():
		return a.tipcString()
	}
	return a.AddrPort().String()
}
