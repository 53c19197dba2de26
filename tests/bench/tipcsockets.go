package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// socketKind is what carries messages between two processes.
type socketKind string

const (
	tipcStream   socketKind = "tipc"
	tipcDatagram socketKind = "tipc-rdm"
	tcpSocket    socketKind = "tcp"
	udpSocket    socketKind = "udp"
)

// connected reports whether there are connections, to be accepted.
func (k socketKind) connected() bool { return k == tipcStream || k == tcpSocket }

// named reports whether addresses are TIPC's names.
func (k socketKind) named() bool { return k == tipcStream || k == tipcDatagram }

// socketMode is what the two processes do.
type socketMode string

const (
	modeConnect socketMode = "connect" // a connection for each message there and back
	modeEcho    socketMode = "echo"
	modeSink    socketMode = "sink" // windows of messages one way, each answered by a byte
	modeBoth    socketMode = "both" // windows both ways at once
)

const (
	// socketRole is the first argument of the process that answers.
	socketRole = "socket-peer"
	// socketType is the type of the TIPC names that are used.
	socketType = 18889
	// windowBytes bounds what is under way: less than what the queues of all kinds of sockets take.
	windowBytes = 64 << 10
	// maxWindow bounds the messages of a window.
	maxWindow = 16
	// queueSize is what is asked of the kernel for each queue.
	queueSize = 1 << 20
	// socketWait bounds each wait for the other end: something was lost.
	socketWait = 10
	// warmUp is the part of a run before the clock starts.
	warmUp = 10
)

// socketRun is one measurement.
type socketRun struct {
	kind  socketKind
	mode  socketMode
	size  int
	count int
	far   string // where a process on another host starts those that answer; empty: this host
}

func (r *socketRun) window() int { return min(max(windowBytes/r.size, 1), maxWindow) }

// measure runs it, with another process that answers. bytes is what was carried in that time.
func (r *socketRun) measure(ctx context.Context) (took time.Duration, bytes int, err error) {
	ctx, cancel := context.WithCancel(ctx)
	to, wait, err := r.peer(ctx)
	if err != nil {
		cancel()
		return 0, 0, err
	}
	defer wait()
	defer cancel()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	return r.client(to)
}

// client is the end that measures.
func (r *socketRun) client(to unix.Sockaddr) (took time.Duration, bytes int, err error) {
	data := make([]byte, r.size)
	var e *socketEnd
	if r.mode != modeConnect {
		if e, err = r.kind.dial(to); err != nil {
			return 0, 0, err
		}
		defer func() { _ = e.close() }() // all is measured
	}
	var start time.Time
	for i := range r.count + r.count/warmUp {
		if i == r.count/warmUp {
			start, bytes = time.Now(), 0
		}
		n, err := r.round(e, to, data)
		if err != nil {
			return 0, 0, err
		}
		bytes += n
	}
	return time.Since(start), bytes, nil
}

// round does once what the mode says, and returns how many bytes it carried.
func (r *socketRun) round(e *socketEnd, to unix.Sockaddr, data []byte) (bytes int, err error) {
	switch r.mode {
	case modeConnect:
		if e, err = r.kind.dial(to); err != nil {
			return 0, err
		}
		err = errors.Join(e.send(data), e.receive(data), e.close())
		return 2 * r.size, err
	case modeEcho:
		return 2 * r.size, errors.Join(e.send(data), e.receive(data))
	case modeSink:
		err = e.sendWindow(data, r.window())
		return r.window() * r.size, errors.Join(err, e.receive(data[:1]))
	default:
		err = e.sendWindow(data, r.window())
		return 2 * r.window() * r.size, errors.Join(err, e.receiveWindow(data, r.window()))
	}
}

// socketPeer is the process that answers: it prints where, and goes on until it is killed.
func socketPeer(args []string) error {
	const parts = 3
	if len(args) != parts {
		return errors.New("usage: " + socketRole + " KIND MODE SIZE")
	}
	size, err := strconv.Atoi(args[2])
	if err != nil {
		return err
	}
	runtime.LockOSThread()
	r := socketRun{kind: socketKind(args[0]), mode: socketMode(args[1]), size: size}
	fd, at, err := r.kind.listen()
	if err != nil {
		return err
	}
	fmt.Println(at)
	for {
		e := &socketEnd{fd: fd, kind: r.kind}
		if r.kind.connected() {
			if e.fd, _, err = unix.Accept4(fd, unix.SOCK_CLOEXEC); err != nil {
				return os.NewSyscallError("accept", err)
			}
			r.kind.options(e.fd)
		}
		if err := r.serve(e); err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		_ = unix.Close(e.fd) // the next comes
	}
}

// serve answers one end until it closes.
func (r *socketRun) serve(e *socketEnd) error {
	data := make([]byte, r.size)
	for {
		var err error
		switch r.mode {
		case modeConnect, modeEcho:
			if err = e.receive(data); err == nil {
				err = e.send(data)
			}
		case modeSink:
			if err = e.receiveWindow(data, r.window()); err == nil {
				err = e.send(data[:1])
			}
		case modeBoth:
			if err = e.receive(data); err == nil { // only now is the asker known
				err = errors.Join(e.sendWindow(data, r.window()), e.receiveWindow(data, r.window()-1))
			}
		}
		if err != nil {
			return err
		}
	}
}
