package udp

import (
	"score/channels/link"
	"score/channels/link/mmsg"

	"golang.org/x/sys/unix"
)

// connectAfter is how many datagrams go to an address, and none to a third one in between, before
// the port connects a socket to it: that costs what the way's look-up costs a few of them.
const connectAfter = 64

// connected is a socket that only sends, to one address. The port's own socket cannot be connected:
// it would no longer receive from others. One bound to the same port would take the peer's
// datagrams away from it, and whoever else has the port's socket would not see them.
type connected struct {
	fd      int          // -1: there is none
	to      link.Address // none: to nobody
	last    link.Address // last one asked for that the socket is not connected to
	run     int          // how often in a row that was
	refused bool         // the system does not let this process have such a socket
}

// Connected implements link.Connecter.
func (p *Port) Connected(to link.Address) bool {
	c := &p.conn
	if to == c.to {
		return true
	}
	if to != c.last {
		c.last, c.run = to, 0
	}
	if c.run++; c.run < connectAfter || c.refused {
		return false
	}
	return p.connectTo(to)
}

// QueueConnected implements link.Connecter.
func (p *Port) QueueConnected(to link.Address, n int) {
	if n == 0 {
		return
	}
	p.Queue(to, n)
	p.out.conn++
}

// connectTo reports whether the socket is now connected to the address.
func (p *Port) connectTo(to link.Address) bool {
	c := &p.conn
	c.run = 0
	p.out.conn = -mmsg.Batch // not what is queued already
	if c.fd < 0 {
		c.fd = p.openSending()
	}
	if c.refused = c.fd < 0 || connect(c.fd, to) != nil; c.refused {
		p.disconnect()
		return false
	}
	c.to = to
	return true
}

// openSending opens a socket at the port's host that only sends, or returns -1.
func (p *Port) openSending() int {
	fd, err := unix.Socket(familyOf(p.local), unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, unix.IPPROTO_UDP)
	if err != nil {
		return -1
	}
	if !sameNetwork(fd, p.fd) || bind(fd, p.local.Host()) != nil {
		unix.Close(fd)
		return -1
	}
	_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF, 0) // nobody reads it
	mmsg.Enlarge(fd, unix.SO_SNDBUFFORCE, unix.SO_SNDBUF, queueBytes)
	p.stopFragments(fd)
	return fd
}

// sameNetwork reports whether two sockets surely are in one network namespace (Linux 5.14): a
// process may have been given a socket of another one, whose addresses are not its own.
func sameNetwork(a, b int) bool {
	x, err1 := unix.GetsockoptUint64(a, unix.SOL_SOCKET, unix.SO_NETNS_COOKIE)
	y, err2 := unix.GetsockoptUint64(b, unix.SOL_SOCKET, unix.SO_NETNS_COOKIE)
	return err1 == nil && err2 == nil && x == y
}

// disconnect gives the socket up.
func (p *Port) disconnect() {
	c := &p.conn
	if c.fd >= 0 {
		unix.Close(c.fd)
	}
	c.fd, c.to = -1, link.Address{}
}
