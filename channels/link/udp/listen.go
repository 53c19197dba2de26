package udp

import (
	"fmt"
	"net/netip"
	"os"
	"score/channels/link"
	"score/channels/link/mmsg"

	"golang.org/x/sys/unix"
)

// queueBytes is what the socket's queues may hold: the bursts of many peers that send a window each
// while the receiver is not looking.
const queueBytes = 4 << 20

// Listen opens a socket at the address, with a port that the kernel chooses.
//
// The descriptor is a blocking one on purpose: an [os.File] of it stays out of the run time's
// poller, which else would be woken for each datagram. A Port never blocks all the same.
func Listen(addr netip.Addr) (*os.File, netip.AddrPort, error) {
	local := link.AddressOf(netip.AddrPortFrom(addr, 0))
	if local.None() {
		return nil, netip.AddrPort{}, fmt.Errorf("udp: cannot listen at %v: not an address of this system", addr)
	}
	fd, err := open(local, queueBytes)
	if err != nil {
		return nil, netip.AddrPort{}, fmt.Errorf("udp: cannot listen at %v: %w", addr, err)
	}
	bound, err := mmsg.LocalAddress(fd)
	if err != nil {
		unix.Close(fd)
		return nil, netip.AddrPort{}, fmt.Errorf("udp: cannot listen at %v: %w", addr, err)
	}
	return os.NewFile(uintptr(fd), "udp "+bound.String()), bound.AddrPort(), nil
}

// Bound is the address of a socket that Listen has opened, perhaps in another process.
func Bound(file *os.File) (netip.AddrPort, error) {
	fd, err := descriptor(file)
	if err != nil {
		return netip.AddrPort{}, err
	}
	local, err := mmsg.LocalAddress(fd)
	if err != nil {
		return netip.AddrPort{}, fmt.Errorf("%w: %w", ErrSocket, err)
	}
	return local.AddrPort(), nil
}

// open makes the socket, with all its options.
func open(local link.Address, queue int) (fd int, err error) {
	fd, err = unix.Socket(familyOf(local), unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, unix.IPPROTO_UDP)
	if err != nil {
		return -1, err
	}
	if local.Is6() {
		// With both families on one socket, one host would have two addresses.
		err = unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_V6ONLY, 1)
	}
	if err == nil {
		mmsg.Enlarge(fd, unix.SO_RCVBUFFORCE, unix.SO_RCVBUF, queue)
		mmsg.Enlarge(fd, unix.SO_SNDBUFFORCE, unix.SO_SNDBUF, queue)
		err = bind(fd, local)
	}
	if err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

func familyOf(a link.Address) int {
	if a.Is6() {
		return unix.AF_INET6
	}
	return unix.AF_INET
}
