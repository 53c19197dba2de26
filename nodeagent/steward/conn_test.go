package steward

import (
	"bytes"
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
	t.Cleanup(func() { c.close(); closeFD(fds[1]) })
	if err := l.watch(c.fd, unix.EPOLLIN, tag{kind: kindPMI}); err != nil {
		t.Fatal(err)
	}
	return c, fds[1]
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
	l.send(c, tag{kind: kindPMI}, want[:half])
	if len(c.unsent) == 0 {
		t.Fatal("the socket took everything")
	}
	l.send(c, tag{kind: kindPMI}, want[half:])
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
		l.send(c, tag{kind: kindPMI}, nil)
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
	for range 3 {
		l.send(c, tag{kind: kindPMI}, make([]byte, unsentLimit/2))
	}
	if len(c.unsent) != 0 {
		t.Errorf("%d bytes are kept", len(c.unsent))
	}
	events, err := l.wait(time.Now().Add(10 * time.Second))
	if err != nil || len(events) != 1 || events[0].Events&unix.EPOLLIN == 0 {
		t.Errorf("events %v, error %v: the end of the connection is not noticed", events, err)
	}
}
