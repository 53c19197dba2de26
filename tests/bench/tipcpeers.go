package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"score/channels/link/tipc"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// peersRole is the first argument of the process that starts, on another host, those that answer.
const peersRole = "socket-peers"

// peer starts the process that answers, here or by the one of peersRole, and returns where it
// listens. It lasts until ctx ends.
func (r *socketRun) peer(ctx context.Context) (to unix.Sockaddr, wait func(), err error) {
	if r.far == "" {
		out, wait, err := startPeer(ctx, string(r.kind), string(r.mode), strconv.Itoa(r.size))
		if err != nil {
			return nil, nil, err
		}
		at, err := readAt(out)
		return r.kind.address(at, loopback), wait, err
	}
	far, err := (&net.Dialer{Timeout: socketWait * time.Second}).DialContext(ctx, "tcp", r.far)
	if err != nil {
		return nil, nil, err
	}
	stop := context.AfterFunc(ctx, func() { far.Close() })
	wait = func() { stop(); far.Close() }
	var at uint32
	if err = far.SetReadDeadline(time.Now().Add(socketWait * time.Second)); err == nil {
		fmt.Fprintln(far, r.kind, r.mode, r.size) // an error is the answer's, too
		at, err = readAt(far)
	}
	if err == nil && r.kind.named() {
		err = awaitName(at)
	}
	host, ok := far.RemoteAddr().(*net.TCPAddr)
	if err != nil || !ok || host.IP.To4() == nil {
		wait()
		return nil, nil, errors.Join(err, fmt.Errorf("the processes at %s do not answer", r.far))
	}
	return r.kind.address(at, [4]byte(host.IP.To4())), wait, nil
}

// startPeer starts a process that answers, until ctx ends.
func startPeer(ctx context.Context, args ...string) (out io.Reader, wait func(), err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, nil, err
	}
	peer := exec.CommandContext(ctx, self, append([]string{socketRole}, args...)...)
	peer.Stderr = os.Stderr
	if out, err = peer.StdoutPipe(); err != nil {
		return nil, nil, err
	}
	wait = func() { _ = peer.Wait() } // it is killed
	return out, wait, peer.Start()
}

func readAt(out io.Reader) (uint32, error) {
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return 0, fmt.Errorf("the other process: %w", err)
	}
	at, err := strconv.ParseUint(strings.TrimSpace(line), 10, 32)
	return uint32(at), err
}

// awaitName waits until this host's kernel knows a name.
func awaitName(at uint32) error {
	watcher, err := tipc.Watch()
	if err != nil {
		return err
	}
	defer func() { _ = watcher.Close() }() // all has been read
	if err := watcher.Subscribe(tipc.Range{Kind: socketType, First: at, Last: at}, 0); err != nil {
		return err
	}
	for end := time.Now().Add(socketWait * time.Second); time.Now().Before(end); {
		if _, err := unix.Poll([]unix.PollFd{{Fd: int32(watcher.Descriptor()), Events: unix.POLLIN}}, 1000); err != nil && err != unix.EINTR {
			return os.NewSyscallError("poll", err)
		}
		if _, ok, err := watcher.Next(); ok || err != nil {
			return err
		}
	}
	return errors.New("the other host's name does not appear: do the bearers join the hosts?")
}

// socketPeers starts a process that answers for each connection, which ends with it, until it is
// killed.
func socketPeers(args []string) error {
	if len(args) != 1 {
		return errors.New("usage: " + peersRole + " ADDRESS")
	}
	listener, err := net.Listen("tcp", args[0])
	if err != nil {
		return err
	}
	for { // one at a time, as they are measured
		conn, err := listener.Accept()
		if err != nil {
			return err
		}
		if err := servePeer(conn); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}
}

func servePeer(conn net.Conn) error {
	defer conn.Close()
	in := bufio.NewReader(conn)
	line, err := in.ReadString('\n')
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	out, wait, err := startPeer(ctx, strings.Fields(line)...)
	if err != nil {
		cancel()
		return err
	}
	defer wait()
	defer cancel()
	at, err := readAt(out)
	if err != nil {
		return err
	}
	fmt.Fprintln(conn, at)
	_, err = in.ReadByte() // its end
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}
