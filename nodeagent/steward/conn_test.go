package steward

import (
	"bytes"
	"errors"
	"score/nodeagent/steward/loop"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// testClients returns clients without any, in a loop.
func testClients(t *testing.T) *clients {
	t.Helper()
	l, err := loop.New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	return &clients{loop: l}
}

// clientOf returns the steward's end of a connection that their loop watches, and the client's.
func clientOf(t *testing.T, cs *clients) (*conn, int) {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	c := &conn{}
	t.Cleanup(func() { cs.close(c); loop.CloseFD(fds[1]) })
	if err := cs.open(c, fds[0], loop.Tag{Kind: kindPMI}); err != nil {
		t.Fatal(err)
	}
	return c, fds[1]
}

// askingClient returns a client whose request waits to be read, and a function that reports whether
// the loop reports it.
func askingClient(t *testing.T, cs *clients) (c *conn, reported func() bool) {
	t.Helper()
	c, peer := clientOf(t, cs)
	if _, err := unix.Write(peer, []byte("cmd=get\n")); err != nil {
		t.Fatal(err)
	}
	return c, func() bool {
		t.Helper()
		events, err := cs.loop.Wait(time.Now().Add(50 * time.Millisecond))
		if err != nil {
			t.Fatal(err)
		}
		return len(events) > 0
	}
}

// TestSendToSlowClient sends more than a socket holds: all of it comes, in order, as the client
// reads.
func TestSendToSlowClient(t *testing.T) {
	cs := testClients(t)
	c, client := clientOf(t, cs)
	want := make([]byte, 4<<20)
	for i := range want {
		want[i] = byte(i >> 8)
	}
	half := len(want) / 2
	send := func(data []byte) {
		t.Helper()
		if err := cs.send(c, data); err != nil {
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
		events, err := cs.loop.Wait(time.Now().Add(10 * time.Second))
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
	cs := testClients(t)
	c, _ := clientOf(t, cs)
	var err error
	for range 3 {
		if err != nil {
			t.Fatal(err)
		}
		err = cs.send(c, make([]byte, unsentLimit/2))
	}
	if !errors.Is(err, errUnsent) {
		t.Errorf("more than the bound: %v", err)
	}
	if len(c.unsent) != 0 {
		t.Errorf("%d bytes are kept", len(c.unsent))
	}
	events, err := cs.loop.Wait(time.Now().Add(10 * time.Second))
	if err != nil || len(events) != 1 || events[0].Events&unix.EPOLLIN == 0 {
		t.Errorf("events %v, error %v: the end of the connection is not noticed", events, err)
	}
}

// The requests of others wait while one client reads late.
func TestLateClient(t *testing.T) {
	cs := testClients(t)
	asking, asks := askingClient(t, cs)
	c, _ := clientOf(t, cs)
	if err := cs.send(c, make([]byte, 2*unsentLate)); err != nil {
		t.Fatal(err)
	}
	if !asks() || !cs.hold(asking) || asks() {
		t.Error("a request does not wait")
	}
	cs.close(c)
	if !asks() || cs.hold(asking) {
		t.Error("a request waits still")
	}
}

// TestDeafClientsTogether sends to clients that do not read, to each less than a late one has: the
// requests of the others wait, and all are read once half has been taken. Beyond the bound for all,
// the next client is hung up on.
func TestDeafClientsTogether(t *testing.T) {
	cs := testClients(t)
	asking, asks := askingClient(t, cs)
	var deaf []*conn
	fill := func(most int) (err error) {
		for err == nil && cs.unsent <= most {
			c, _ := clientOf(t, cs)
			deaf = append(deaf, c)
			err = cs.send(c, make([]byte, unsentLate))
		}
		return err
	}
	if !asks() || cs.hold(asking) {
		t.Fatal("a request waits though nothing does")
	}
	if err := fill(unsentPause); err != nil {
		t.Fatal(err)
	}
	if !asks() || !cs.hold(asking) {
		t.Fatal("a request does not wait")
	}
	if asks() {
		t.Error("a request that waits is reported")
	}
	for cs.unsent > unsentPause/2 {
		if asks() {
			t.Fatalf("a request is reported while %d bytes wait", cs.unsent)
		}
		cs.close(deaf[0])
		deaf = deaf[1:]
	}
	if !asks() || cs.hold(asking) {
		t.Error("a request waits still")
	}
	if err := fill(unsentMost); !errors.Is(err, errUnsent) || cs.unsent > unsentMost {
		t.Errorf("%d bytes wait for all clients: %v", cs.unsent, err)
	}
	for _, c := range deaf {
		cs.close(c)
	}
	if cs.unsent != 0 || cs.held != nil {
		t.Errorf("%d bytes wait for nobody, for %d requests", cs.unsent, len(cs.held))
	}
}
