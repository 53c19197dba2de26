package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// socketEnd is one end of a connection, or a socket for datagrams.
type socketEnd struct {
	fd   int
	kind socketKind
	to   unix.Sockaddr // of datagrams
}

// open opens a socket with the options that all have.
func (k socketKind) open() (int, error) {
	domain, kind := unix.AF_INET, unix.SOCK_STREAM
	switch k {
	case tipcStream:
		domain = unix.AF_TIPC
	case tipcDatagram:
		domain, kind = unix.AF_TIPC, unix.SOCK_RDM
	case udpSocket:
		kind = unix.SOCK_DGRAM
	case tcpSocket:
	}
	fd, err := unix.Socket(domain, kind|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, os.NewSyscallError("socket", err)
	}
	k.options(fd)
	return fd, nil
}

// options sets what makes the kinds comparable; what one does not know it does without.
func (k socketKind) options(fd int) {
	_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF, queueSize)
	_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUF, queueSize)
	if k == tcpSocket {
		_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
	}
}

// loopback is this host.
var loopback = [4]byte{127, 0, 0, 1}

// address is where the peer is, by its port on a host, or by its instance.
func (k socketKind) address(at uint32, host [4]byte) unix.Sockaddr {
	if k.named() {
		return &unix.SockaddrTIPC{Scope: unix.TIPC_CLUSTER_SCOPE, Addr: &unix.TIPCServiceName{Type: socketType, Instance: at}}
	}
	return &unix.SockaddrInet4{Port: int(at), Addr: host}
}

// listen opens the socket of the process that answers, and says where it is.
func (k socketKind) listen() (fd int, at uint32, err error) {
	if fd, err = k.open(); err != nil {
		return -1, 0, err
	}
	if k.named() {
		at = uint32(os.Getpid())
		err = unix.Bind(fd, &unix.SockaddrTIPC{Scope: unix.TIPC_CLUSTER_SCOPE, Addr: &unix.TIPCServiceRange{Type: socketType, Lower: at, Upper: at}})
	} else {
		err = unix.Bind(fd, &unix.SockaddrInet4{}) // also for another host
	}
	if err == nil && k.connected() {
		err = unix.Listen(fd, unix.SOMAXCONN)
	}
	if err != nil {
		return -1, 0, fmt.Errorf("cannot listen: %w", err)
	}
	if at != 0 {
		return fd, at, nil
	}
	name, err := unix.Getsockname(fd)
	if in, ok := name.(*unix.SockaddrInet4); ok {
		return fd, uint32(in.Port), err
	}
	return -1, 0, errors.Join(errors.New("no port"), err)
}

// dial makes an end for the process that answers.
func (k socketKind) dial(to unix.Sockaddr) (*socketEnd, error) {
	fd, err := k.open()
	if err != nil {
		return nil, err
	}
	e := &socketEnd{fd: fd, kind: k, to: to}
	err = unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: socketWait})
	if err == nil && k.connected() {
		err = unix.Connect(fd, to)
		for errors.Is(err, unix.EINTR) { // the connection is still being made
			err = unix.Connect(fd, to)
		}
		if errors.Is(err, unix.EISCONN) {
			err = nil
		}
	}
	if err != nil {
		_ = e.close() // the first error says why
		return nil, fmt.Errorf("cannot connect: %w", err)
	}
	return e, nil
}

func (e *socketEnd) close() error { return unix.Close(e.fd) }

func (e *socketEnd) send(data []byte) error {
	if !e.kind.connected() {
		err := unix.Sendto(e.fd, data, 0, e.to)
		for err == unix.EINTR {
			err = unix.Sendto(e.fd, data, 0, e.to)
		}
		return os.NewSyscallError("sendto", err)
	}
	for len(data) > 0 {
		n, err := unix.Write(e.fd, data)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return os.NewSyscallError("write", err)
		}
		data = data[n:]
	}
	return nil
}

// receive takes one message of that length. Datagrams are answered to where the last came from.
func (e *socketEnd) receive(data []byte) error {
	if !e.kind.connected() {
		n, from, err := unix.Recvfrom(e.fd, data, 0)
		for err == unix.EINTR {
			n, from, err = unix.Recvfrom(e.fd, data, 0)
		}
		if e.to = from; err != nil || n != len(data) {
			return fmt.Errorf("recvfrom: %d of %d bytes: %w", n, len(data), errors.Join(err, io.ErrUnexpectedEOF))
		}
		return nil
	}
	for len(data) > 0 {
		n, err := unix.Read(e.fd, data)
		switch {
		case err == unix.EINTR: // the run time's own signals end waits with a time limit
			continue
		case err == nil && n == 0, errors.Is(err, unix.ECONNRESET), errors.Is(err, unix.EPIPE):
			return io.EOF
		case err != nil:
			return os.NewSyscallError("read", err)
		}
		data = data[n:]
	}
	return nil
}

func (e *socketEnd) sendWindow(data []byte, count int) error {
	for range count {
		if err := e.send(data); err != nil {
			return err
		}
	}
	return nil
}

func (e *socketEnd) receiveWindow(data []byte, count int) error {
	for range count {
		if err := e.receive(data); err != nil {
			return err
		}
	}
	return nil
}

// virtual reports whether the processor is not a real one, as far as the kernel says.
func virtual() bool {
	info, err := os.ReadFile("/proc/cpuinfo")
	text := string(info)
	return err == nil && (strings.Contains(text, "User Mode Linux") || strings.Contains(text, "hypervisor"))
}
