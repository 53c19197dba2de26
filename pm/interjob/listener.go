package interjob

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// acceptEvery is the number of empty polls for messages that share one poll for connections, which
// is a system call.
const acceptEvery = 1 << 12

// acceptPause is the pause after a failed accept.
const acceptPause = 10 * time.Millisecond

// listenQueue is how many connections may wait in the kernel, which may be configured to take
// fewer: the ranks of a large job that connect at once.
const listenQueue = 4096

// listener is a socket that accepts when asked or, later, by a goroutine.
type listener struct {
	file      *os.File
	port      uint16
	accepting net.Listener // of the goroutine; nil: there is none
	strangers atomic.Int32
}

// listen opens the socket itself: package net looks at the system first, which takes a third of a
// millisecond of every rank's start, and few ranks ever meet another job.
func listen(host netip.Addr) (*listener, error) {
	fd, err := openSocket(host)
	if err != nil {
		return nil, err
	}
	l := &listener{file: os.NewFile(uintptr(fd), "interjob")}
	if l.port, err = portOf(fd); err != nil {
		_ = l.file.Close()
		return nil, err
	}
	return l, nil
}

func openSocket(host netip.Addr) (fd int, err error) {
	family, at, err := socketAddress(host)
	if err != nil {
		return -1, err
	}
	fd, err = unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, unix.IPPROTO_TCP)
	if err != nil {
		return -1, os.NewSyscallError("socket", err)
	}
	if err = unix.Bind(fd, at); err == nil {
		err = unix.Listen(fd, listenQueue)
	}
	if err != nil {
		_ = unix.Close(fd)
		return -1, fmt.Errorf("listening at %v: %w", host, err)
	}
	return fd, nil
}

// socketAddress is the host with a port of the system's choice.
func socketAddress(host netip.Addr) (family int, at unix.Sockaddr, err error) {
	if host.Is4() || host.Is4In6() {
		return unix.AF_INET, &unix.SockaddrInet4{Addr: host.Unmap().As4()}, nil
	}
	if host.Zone() == "" {
		return unix.AF_INET6, &unix.SockaddrInet6{Addr: host.As16()}, nil
	}
	device, err := net.InterfaceByName(host.Zone())
	if err != nil {
		return 0, nil, fmt.Errorf("listening at %v: %w", host, err)
	}
	return unix.AF_INET6, &unix.SockaddrInet6{Addr: host.As16(), ZoneId: uint32(device.Index)}, nil
}

func portOf(fd int) (uint16, error) {
	bound, err := unix.Getsockname(fd)
	if err != nil {
		return 0, os.NewSyscallError("getsockname", err)
	}
	switch at := bound.(type) {
	case *unix.SockaddrInet4:
		return uint16(at.Port), nil
	case *unix.SockaddrInet6:
		return uint16(at.Port), nil
	}
	return 0, os.NewSyscallError("getsockname", unix.EAFNOSUPPORT)
}

func (l *listener) close() error {
	if l.accepting != nil {
		_ = l.accepting.Close()
	}
	return l.file.Close()
}

// Expect has a goroutine accept connections from now on.
func (n *Node) Expect() {
	l := n.listener
	if l.accepting != nil {
		return
	}
	accepting, err := net.FileListener(l.file)
	if err != nil {
		return // no descriptor is left: polls accept instead
	}
	l.accepting = accepting
	n.tasks.Go(func() {
		for {
			c, err := accepting.Accept()
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

// acceptOnce accepts one connection if there is one, unless a goroutine accepts already.
func (n *Node) acceptOnce() {
	if n.listener.accepting != nil {
		return
	}
	raw, err := n.listener.file.SyscallConn()
	if err != nil {
		return
	}
	fd := -1
	_ = raw.Control(func(listening uintptr) { // fd stays -1 if the file is closed
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

// begin serves a connection, unless too many connections have not authenticated yet.
func (n *Node) begin(c net.Conn) {
	if n.listener.strangers.Add(1) > maxStrangers {
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
	again := p.connected
	p.connected = true
	n.mu.Unlock()
	if again {
		return // it has one connection in its life
	}
	n.read(p, c)
}
