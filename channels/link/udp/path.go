package udp

import (
	"score/channels/link"

	"golang.org/x/sys/unix"
)

// Bytes of the headers before a datagram's.
const (
	headers4 = 20 + 8
	headers6 = 40 + 8
	// unknownMTU is assumed where the kernel reports no MTU: Ethernet's.
	unknownMTU = 1500
	// maxPaths bounds the remembered paths; the hosts of a job are fewer, and a forgotten path is
	// looked up again.
	maxPaths = 4096
)

// paths knows how long datagrams to each host may be.
type paths struct {
	last link.Address // asked for last, with its port
	size int
	host map[link.Address]int
}

// Size implements link.Port.
func (p *Port) Size(to link.Address) int {
	if to == p.paths.last && p.paths.size > 0 {
		return p.paths.size
	}
	return p.lookUp(to)
}

func (p *Port) lookUp(to link.Address) int {
	host := to.Host()
	size, ok := p.paths.host[host]
	if !ok {
		size = sizeFor(to, pathMTU(to))
		p.learn(host, size)
	}
	p.paths.last, p.paths.size = to, size
	return size
}

func (p *Port) learn(host link.Address, size int) {
	if p.paths.host == nil || len(p.paths.host) >= maxPaths {
		p.paths.host = make(map[link.Address]int)
	}
	p.paths.host[host] = size
	p.paths.size = 0
}

// onTooLarge is called when the path did not take a datagram of n bytes.
func (p *Port) onTooLarge(to link.Address, n int) {
	size := sizeFor(to, pathMTU(to))
	if size >= n {
		size = min(sizeFor(to, 0), n-1) // the kernel reports an MTU that it does not obey
	}
	p.learn(to.Host(), max(size, link.MinDatagram))
}

// sizeFor is the longest datagram for an MTU; 0: unknown.
func sizeFor(to link.Address, mtu int) int {
	if mtu <= 0 {
		mtu = unknownMTU
	}
	headers := headers4
	if to.Is6() {
		headers = headers6
	}
	return min(max(mtu-headers, link.MinDatagram), link.MaxDatagram)
}

// pathMTU returns the kernel's MTU of the path, which it reports for connected sockets only; 0 if
// it reports none.
func pathMTU(to link.Address) int {
	fd, err := unix.Socket(familyOf(to), unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, unix.IPPROTO_UDP)
	if err != nil {
		return 0
	}
	defer unix.Close(fd)
	if connect(fd, to) != nil {
		return 0
	}
	level, option := unix.IPPROTO_IP, unix.IP_MTU
	if to.Is6() {
		level, option = unix.IPPROTO_IPV6, unix.IPV6_MTU
	}
	mtu, err := unix.GetsockoptInt(fd, level, option)
	if err != nil {
		return 0
	}
	return mtu
}

// stopFragments makes the kernel refuse datagrams that are longer than the path takes, instead of
// fragmenting them.
func (p *Port) stopFragments(fd int) { p.setDiscovery(fd, unix.IP_PMTUDISC_DO) }

// allowFragments ends that.
func (p *Port) allowFragments(fd int) { p.setDiscovery(fd, unix.IP_PMTUDISC_DONT) }

// setDiscovery sets how the kernel finds the path's width; the values of the two families are the
// same.
func (p *Port) setDiscovery(fd, value int) {
	level, option := unix.IPPROTO_IP, unix.IP_MTU_DISCOVER
	if p.local.Is6() {
		level, option = unix.IPPROTO_IPV6, unix.IPV6_MTU_DISCOVER
	}
	_ = unix.SetsockoptInt(fd, level, option, value) // of a UDP socket it does not fail
}
