package interjob

import (
	"net"
	"net/netip"
	"os"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// acceptEvery is how much rarer an empty poll looks for connections than for messages: a look is a
// system call.
const acceptEvery = 1 << 12

// acceptPause is how long a failed accept is not repeated.
const acceptPause = 10 * time.Millisecond

// listener is a socket that accepts at once or, later, by a goroutine.
type listener struct {
	file      *net.TCPListener
	port      uint16
	expecting bool
	strangers atomic.Int32
}

func listen(host netip.Addr) (*listener, error) {
	l, err := net.ListenTCP("tcp", net.TCPAddrFromAddrPort(netip.AddrPortFrom(host, 0)))
	if err != nil {
		return nil, err
	}
	return &listener{file: l, port: l.Addr().(*net.TCPAddr).AddrPort().Port()}, nil
}

func (l *listener) close() error { return l.file.Close() }

// Expect has a goroutine accept connections from now on.
func (n *Node) Expect() {
	if n.listener.expecting {
		return
	}
	n.listener.expecting = true
	n.tasks.Go(func() {
		for {
			c, err := n.listener.file.Accept()
			if err != nil {
				if !n.pause() {
					return
				}
				continue // its dialer gave up, or no descriptor is left
			}
			n.begin(c)
		}
	})
}

// pause waits before the next try to accept. It is false if the node is closed.
func (n *Node) pause() bool {
	select {
	case <-time.After(acceptPause):
		return true
	case <-n.ctx.Done():
		return false
	}
}

// acceptOnce accepts one connection if there is one, and nobody does it already.
func (n *Node) acceptOnce() {
	if n.listener.expecting {
		return
	}
	raw, err := n.listener.file.SyscallConn()
	if err != nil {
		return
	}
	fd := -1
	_ = raw.Control(func(listening uintptr) {
		fd, _, err = unix.Accept4(int(listening), unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK)
	})
	if err != nil || fd < 0 {
		return
	}
	file := os.NewFile(uintptr(fd), "interjob")
	defer file.Close()
	if c, err := net.FileConn(file); err == nil {
		n.begin(c)
	}
}

// begin serves a connection, unless too many have not proved yet who they are.
func (n *Node) begin(c net.Conn) {
	if n.listener.strangers.Add(1) > strangersMost {
		n.listener.strangers.Add(-1)
		_ = c.Close()
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closing {
		_ = c.Close()
		return
	}
	n.tasks.Go(func() { n.serve(c) })
}

// serve reads what a peer sends.
func (n *Node) serve(c net.Conn) {
	defer c.Close()
	defer n.follow(c)()
	id, err := meet(c, n.self.Key)
	n.listener.strangers.Add(-1)
	if err != nil || id.job == n.self.Job {
		return
	}
	n.mu.Lock()
	p := n.peerLocked(id)
	again := p.heard
	p.heard = true
	n.mu.Unlock()
	if again {
		return // it has one connection in its life
	}
	n.read(p, c)
}
