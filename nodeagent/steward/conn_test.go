package steward

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// clientOf returns the steward's end of a connection that its loop watches, and the client's.
func clientOf(t *testing.T, l *loop) (*conn, int) {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	c := &conn{fd: fds[0]}
	t.Cleanup(func() { l.closeConn(c); closeFD(fds[1]) })
	if err := l.watch(c.fd, unix.EPOLLIN, tag{kind: kindPMI}); err != nil {
		t.Fatal(err)
	}
	return c, fds[1]
}

// askingClient returns a client whose request waits to be read, how the loop watches it, and a function
// that reports whether the loop reports it.
func askingClient(t *testing.T, l *loop) (c *conn, at tag, reported func() bool) {
	t.Helper()
	c, peer := clientOf(t, l)
	at = tag{kind: kindPMI, index: 7}
	if err := l.changeWatch(c.fd, unix.EPOLLIN, at); err != nil {
		t.Fatal(err)
	}
	if _, err := unix.Write(peer, []byte("cmd=get\n")); err != nil {
		t.Fatal(err)
	}
	return c, at, func() bool {
		t.Helper()
		events, err := l.wait(time.Now().Add(50 * time.Millisecond))
		if err != nil {
			t.Fatal(err)
		}
		return len(events) > 0
	}
}

// TestSendToSlowClient sends more than a socket holds: all of it comes, in order, as the client
// reads.
func TestSendToSlowClient(t *testing.T) {
	l := testLoop(t)
	c, client := clientOf(t, l)
	want := make([]byte, 4<<20)
	for i := range want {
		want[i] = byte(i >> 8)
	}
	half := len(want) / 2
	send := func(data []byte) {
		t.Helper()
		if err := l.send(c, tag{kind: kindPMI}, data); err != nil {
			t.Fatal(err)
		}
	}
	send(want[:half])
	if len(c.unsent) == 0 {
		t.Fatal("the socket took everything")
	}
	send(want[half:])
	var got []byte
	for buffer := make([]byte, 1<<20); len(got) < len(want); {
		n, err := unix.Read(client, buffer)
		if err != nil {
			t.Fatalf("after %d bytes: %v", len(got), err)
		}
		got = append(got, buffer[:n]...)
		if len(c.unsent) == 0 {
			continue
		}
		events, err := l.wait(time.Now().Add(10 * time.Second))
		if err != nil || len(events) != 1 || events[0].Events&unix.EPOLLOUT == 0 {
			t.Fatalf("events %v, error %v, %d bytes unsent", events, err, len(c.unsent))
		}
		send(nil)
	}
	if !bytes.Equal(got, want) {
		t.Error("the bytes came in another order")
	}
	if c.unsent != nil {
		t.Errorf("%d bytes are kept", len(c.unsent))
	}
}

// TestSendToDeafClient sends until the bound: the client is hung up on, and nothing is kept for it.
func TestSendToDeafClient(t *testing.T) {
	l := testLoop(t)
	c, _ := clientOf(t, l)
	var err error
	for range 3 {
		if err != nil {
			t.Fatal(err)
		}
		err = l.send(c, tag{kind: kindPMI}, make([]byte, unsentLimit/2))
	}
	if !errors.Is(err, errUnsent) {
		t.Errorf("more than the bound: %v", err)
	}
	if len(c.unsent) != 0 {
		t.Errorf("%d bytes are kept", len(c.unsent))
	}
	events, err := l.wait(time.Now().Add(10 * time.Second))
	if err != nil || len(events) != 1 || events[0].Events&unix.EPOLLIN == 0 {
		t.Errorf("events %v, error %v: the end of the connection is not noticed", events, err)
	}
}

// TestDeafClientsTogether sends to clients that do not read, to each less than one may have: the
// requests of the others wait, and all are read once half has been taken. Beyond the bound for all, the
// next client is hung up on.
func TestDeafClientsTogether(t *testing.T) {
	l := testLoop(t)
	asking, at, asks := askingClient(t, l)
	var deaf []*conn
	fill := func(most int) (err error) {
		for err == nil && l.clients.unsent <= most {
			c, _ := clientOf(t, l)
			deaf = append(deaf, c)
			err = l.send(c, tag{kind: kindPMI}, make([]byte, unsentLimit))
		}
		return err
	}
	if !asks() || l.hold(asking, at) {
		t.Fatal("a request waits though nothing does")
	}
	if err := fill(unsentPause); err != nil {
		t.Fatal(err)
	}
	if !asks() || !l.hold(asking, at) {
		t.Fatal("a request does not wait")
	}
	if asks() {
		t.Error("a request that waits is reported")
	}
	for l.clients.unsent > unsentPause/2 {
		if asks() {
			t.Fatalf("a request is reported while %d bytes wait", l.clients.unsent)
		}
		l.closeConn(deaf[0])
		deaf = deaf[1:]
	}
	if !asks() || l.hold(asking, at) {
		t.Error("a request waits still")
	}
	if err := fill(unsentMost); !errors.Is(err, errUnsent) || l.clients.unsent > unsentMost {
		t.Errorf("%d bytes wait for all clients: %v", l.clients.unsent, err)
	}
	for _, c := range deaf {
		l.closeConn(c)
	}
	if l.clients.unsent != 0 || l.clients.held != nil {
		t.Errorf("%d bytes wait for nobody, for %d requests", l.clients.unsent, len(l.clients.held))
	}
}
