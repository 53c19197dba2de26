package udp

import (
	"fmt"
	"score/channels/link"
	"testing"
)

// sendOften sends count datagrams as a driver does, each flushed, and has them received.
func sendOften(t *testing.T, from, to *Port, count int) (last parcel) {
	t.Helper()
	for i := range count {
		want := fmt.Sprintf("%d %s", i, stamped(make([]byte, 60))[20:])
		queue(from, to.Local(), want)
		from.Flush()
		if last = receive(to, 1)[0]; string(last.data) != string(stamp(want)) {
			t.Fatalf("datagram %d: %q", i, last.data)
		}
	}
	return last
}

func stamp(text string) []byte { return stamped(append(make([]byte, link.HeadBytes), text...)) }

func queue(p *Port, to link.Address, text string) {
	n := put(p, stamp(text))
	if p.Connected(to) {
		p.QueueConnected(to, n)
		return
	}
	p.Queue(to, n)
}

// TestConnected: to whom a port sends often it has a socket connected, and loses nothing for it.
func TestConnected(t *testing.T) {
	for _, host := range []string{"127.0.0.1", "::1"} {
		t.Run(host, func(t *testing.T) {
			a, b, c := newPort(t, host), newPort(t, host), newPort(t, host)
			if last := sendOften(t, a, b, connectAfter-1); last.from != a.Local() {
				t.Fatalf("from %v, want %v", last.from, a.Local())
			}
			last := sendOften(t, a, b, 2)
			if last.from == a.Local() || last.from.Host() != a.Local().Host() {
				t.Fatalf("from %v, want another port of %v", last.from, a.Local())
			}
			sendOften(t, c, a, 3*connectAfter) // it receives from others all the same
			batches(t, a, b, c, last.from)
			if s := a.Stats(); s.Dropped > 0 {
				t.Errorf("%+v", s)
			}
		})
	}
}

// batches sends several datagrams at once, to b through the connected socket, and to b and c
// through the other one.
func batches(t *testing.T, a, b, c *Port, conn link.Address) {
	t.Helper()
	for i := range 5 {
		queue(a, b.Local(), fmt.Sprint("batch ", i))
	}
	a.Flush()
	for i, got := range receive(b, 5) {
		if got.from != conn || string(got.data) != string(stamp(fmt.Sprint("batch ", i))) {
			t.Errorf("datagram %d of a batch: %q from %v", i, got.data, got.from)
		}
	}
	queue(a, b.Local(), "to b")
	queue(a, c.Local(), "to c")
	a.Flush()
	for _, p := range []*Port{b, c} {
		if got := receive(p, 1)[0]; got.from != a.Local() {
			t.Errorf("%q from %v, want %v", got.data, got.from, a.Local())
		}
	}
}

// TestReconnected: the queue may hold datagrams for the last address when the socket is connected
// to another one.
func TestReconnected(t *testing.T) {
	a, b, c := newPort(t, "127.0.0.1"), newPort(t, "127.0.0.1"), newPort(t, "127.0.0.1")
	sendOften(t, a, b, connectAfter)
	sendOften(t, a, c, connectAfter-1)
	queue(a, b.Local(), "to b")
	queue(a, c.Local(), "to c")
	if a.conn.to != c.Local() {
		t.Fatalf("connected to %v, want %v", a.conn.to, c.Local())
	}
	a.Flush()
	for _, p := range []*Port{b, c} {
		if got := receive(p, 1)[0]; got.from != a.Local() {
			t.Errorf("%q from %v, want %v", got.data, got.from, a.Local())
		}
	}
}

// TestConnectedRefused: the kernel reports that nobody was there with the next datagram, which is
// sent all the same.
func TestConnectedRefused(t *testing.T) {
	a, b := newPort(t, "127.0.0.1"), newPort(t, "127.0.0.1")
	sendOften(t, a, b, connectAfter)
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	sent := a.Stats().Sent
	for range 3 {
		queue(a, b.Local(), "alone")
		a.Flush()
		queue(a, b.Local(), "one of two")
		queue(a, b.Local(), "two of two")
		a.Flush()
	}
	if s := a.Stats(); s.Sent != sent+9 || s.Dropped > 0 || a.gso != segments(a.fd) {
		t.Errorf("%+v, segmentation %v", s, a.gso)
	}
}
