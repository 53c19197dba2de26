package peer

import (
	"bytes"
	"errors"
	"io"
	"score/nodeagent/steward/loop"
	"score/nodeagent/steward/stewardpb"
	"score/scored/api/scorev1"
	"testing"

	"golang.org/x/sys/unix"
)

// pair is a peer in a loop, and the other end of its connection.
func pair(t *testing.T) (*Peer, int) {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	p := New(1, fds[0])
	t.Cleanup(func() {
		p.Close()
		loop.CloseFD(fds[1])
	})
	l, err := loop.New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	if err := p.Join(l, 1); err != nil {
		t.Fatal(err)
	}
	return p, fds[1]
}

func TestAPeerThatReadsLaterGetsEverything(t *testing.T) {
	p, other := pair(t)
	const chunk = 32 << 10
	sent := 0
	body := &scorev1.Output{Data: bytes.Repeat([]byte{'x'}, chunk)}
	m := &stewardpb.FromSteward{Message: &stewardpb.FromSteward_Output{Output: body}}
	for p.Unsent() < 4*chunk { // until the socket is full, and some more
		if err := p.Queue(m); err != nil {
			t.Fatal(err)
		}
		sent++
		if err := p.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	if p.interest&unix.EPOLLOUT == 0 {
		t.Error("does not wait for the socket")
	}
	reader := New(2, other)
	got := 0
	for got < sent {
		if err := reader.Receive(); err != nil {
			t.Fatal(err)
		}
		for {
			var read stewardpb.FromSteward
			ok, err := reader.Next(&read)
			if err != nil {
				t.Fatal(err)
			}
			if !ok {
				break
			}
			if len(read.GetOutput().GetData()) != chunk {
				t.Fatalf("message %d has %d bytes", got, len(read.GetOutput().GetData()))
			}
			got++
		}
		if err := p.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	if p.Unsent() != 0 || p.interest&unix.EPOLLOUT != 0 {
		t.Errorf("%d bytes are left, interest %#x", p.Unsent(), p.interest)
	}
}

func TestAPeerHangsUp(t *testing.T) {
	p, other := pair(t)
	if err := p.Receive(); err != nil {
		t.Errorf("nothing to read yet: %v", err)
	}
	if err := unix.Shutdown(other, unix.SHUT_RDWR); err != nil {
		t.Fatal(err)
	}
	if err := p.Receive(); !errors.Is(err, io.EOF) {
		t.Errorf("got %v, want the end", err)
	}
	m := &stewardpb.FromSteward{Message: &stewardpb.FromSteward_Drained{Drained: true}}
	if err := p.Queue(m); err != nil {
		t.Fatal(err)
	}
	if err := p.Flush(); err == nil { // and no SIGPIPE
		t.Error("could be written to")
	}
}
