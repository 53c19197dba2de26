package udp

import (
	"net/netip"
	"score/channels/link"
	"testing"

	"golang.org/x/sys/unix"
)

// TestOverflow: what finds the receive queue full is counted.
func TestOverflow(t *testing.T) {
	for _, offload := range []bool{true, false} {
		a, b := newPort(t, "127.0.0.1"), newPort(t, "127.0.0.1")
		if !offload {
			withoutOffload(t, a, b)
		}
		if err := unix.SetsockoptInt(b.fd, unix.SOL_SOCKET, unix.SO_RCVBUF, 1<<16); err != nil {
			t.Fatal(err)
		}
		const sent = 1000
		for range sent {
			send(a, b.Local(), stamped(make([]byte, 1000)))
		}
		a.Flush()
		for b.Stats().Received+b.Stats().Overflowed < sent {
			// Joined datagrams are dropped as one, and so counted.
			n := b.Receive(func(link.Address, []byte) {})
			if n == 0 && offload && b.Stats().Overflowed > 0 {
				break
			}
		}
		if s := b.Stats(); s.Overflowed == 0 || s.Received == 0 {
			t.Errorf("offload %v: %+v", offload, s)
		}
	}
}

// TestRefusedByTheSystem: what the system does not take is dropped, and the rest goes.
func TestRefusedByTheSystem(t *testing.T) {
	a, b := newPort(t, "127.0.0.1"), newPort(t, "127.0.0.1")
	nowhere := link.AddressOf(netip.MustParseAddrPort("255.255.255.255:1")) // a broadcast without permission
	for i := range 10 {
		send(a, nowhere, []byte("x"))
		if i%2 == 0 {
			send(a, nowhere, []byte("x")) // a run
		}
		send(a, b.Local(), []byte("y"))
	}
	a.Flush()
	send(a, nowhere, []byte("x"))
	a.Flush()
	send(a, link.Address{}, []byte("x"))
	a.Flush()
	if s := a.Stats(); s.Dropped != 17 || s.Sent != 10 {
		t.Errorf("%+v", s)
	}
	receive(b, 10)
	if a.gso != b.gso {
		t.Error("segmentation was given up for another reason")
	}
}

// TestPortUnreachable: a message of the system that nobody listens there (ICMP) stops nothing.
func TestPortUnreachable(t *testing.T) {
	a, b, gone := newPort(t, "127.0.0.1"), newPort(t, "127.0.0.1"), newPort(t, "127.0.0.1")
	gone.Close()
	for range 10 {
		send(a, gone.Local(), []byte("x"))
		a.Flush()
		send(a, b.Local(), []byte("y"))
		a.Flush()
	}
	receive(b, 10)
}
