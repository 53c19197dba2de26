package interjob

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// end is a node with what wakes it.
type end struct {
	*Node
	woken chan struct{}
}

func newEnd(t *testing.T, job uint64, rank uint32) *end {
	t.Helper()
	e := &end{woken: make(chan struct{}, 1)}
	n, err := Listen(Address{Job: job, Rank: rank}, netip.MustParseAddr("127.0.0.1"), func() {
		select {
		case e.woken <- struct{}{}:
		default:
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	e.Node = n
	t.Cleanup(func() { _ = n.Close() })
	return e
}

// next waits for the next frame.
func (e *end) next(t *testing.T) Frame {
	t.Helper()
	late := time.After(20 * time.Second)
	for {
		if f, ok := e.Poll(); ok {
			return f
		}
		if e.Ready() {
			continue
		}
		select {
		case <-e.woken:
		case <-time.After(time.Millisecond): // a node that expects nobody looks for connections when asked
		case <-late:
			t.Fatal("nothing came")
		}
	}
}

func (e *end) send(t *testing.T, p *Peer, data []byte) {
	t.Helper()
	for {
		buf, err := p.Reserve(len(data))
		if errors.Is(err, ErrFull) {
			<-e.woken
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		copy(buf, data)
		if err := p.Commit(); err != nil {
			t.Fatal(err)
		}
		return
	}
}

func peerOf(t *testing.T, n *Node, a Address) *Peer {
	t.Helper()
	p, err := n.Peer(a)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Messages of all lengths come in order, both ways, faster than they are taken.
func TestMessages(t *testing.T) {
	a, b := newEnd(t, 1, 3), newEnd(t, 2, 0)
	const count = 500
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		p := peerOf(t, a.Node, b.Address())
		for i := range uint64(count) {
			a.send(t, p, binary.LittleEndian.AppendUint64(make([]byte, i*130), i))
		}
	}()
	for i := range uint64(count) {
		f := b.next(t)
		if f.Err != nil || f.Peer.id.job != 1 || f.Peer.id.rank != 3 || len(f.Data) != int(i*130+8) || binary.LittleEndian.Uint64(f.Data[i*130:]) != i {
			t.Fatalf("message %d: %d bytes, %v", i, len(f.Data), f.Err)
		}
		f.Release()
	}
	<-sent
	back := peerOf(t, b.Node, a.Address())
	b.send(t, back, []byte("back"))
	if f := a.next(t); string(f.Data) != "back" || f.Peer.Number() != 0 {
		t.Errorf("%+v", f)
	}
}

// What was committed before Close arrives, then the end.
func TestCloseSendsWhatIsUnderWay(t *testing.T) {
	a, b := newEnd(t, 1, 0), newEnd(t, 2, 0)
	b.Expect()
	p := peerOf(t, a.Node, b.Address())
	for i := range byte(maxOut) {
		a.send(t, p, []byte{i})
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	for i := range byte(maxOut) {
		if f := b.next(t); !slices.Equal(f.Data, []byte{i}) {
			t.Fatalf("message %d: %+v", i, f)
		}
	}
	if f := b.next(t); !errors.Is(f.Err, ErrGone) || !f.Last {
		t.Errorf("the end: %+v", f)
	}
}

// A sender learns of the end of a peer that never sent anything.
func TestEndOfASilentPeer(t *testing.T) {
	a, b := newEnd(t, 1, 0), newEnd(t, 2, 7)
	p := peerOf(t, a.Node, b.Address())
	a.send(t, p, []byte("hello"))
	b.next(t)
	_ = b.Close()
	if f := a.next(t); !errors.Is(f.Err, ErrGone) || f.Peer != p || f.Last {
		t.Errorf("%+v", f)
	}
	if _, err := p.Reserve(1); !errors.Is(err, ErrGone) {
		t.Errorf("sending to it: %v", err)
	}
}

// Nobody is there, or somebody who does not know the secret.
func TestUnreachablePeer(t *testing.T) {
	a, b := newEnd(t, 1, 0), newEnd(t, 2, 0)
	b.Expect()
	wrong := b.Address()
	wrong.Key[0]++
	p := peerOf(t, a.Node, wrong)
	a.send(t, p, []byte("secret"))
	if f := a.next(t); !errors.Is(f.Err, ErrGone) {
		t.Errorf("a wrong secret: %+v", f)
	}
	gone := newEnd(t, 3, 0)
	nowhere := gone.Address()
	_ = gone.Close()
	a.send(t, peerOf(t, a.Node, nowhere), []byte("hello"))
	if f := a.next(t); !errors.Is(f.Err, ErrGone) {
		t.Errorf("nobody: %+v", f)
	}
	if b.Ready() {
		t.Error("something came of one that does not know the secret")
	}
}

func TestAddressesThatAreRefused(t *testing.T) {
	a, b := newEnd(t, 1, 0), newEnd(t, 2, 0)
	for name, address := range map[string]Address{"zero": {}, "of its own job": a.Address()} {
		if _, err := a.Peer(address); !errors.Is(err, ErrAddress) {
			t.Errorf("%s: %v", name, err)
		}
	}
	peerOf(t, a.Node, b.Address())
	other := b.Address()
	other.Key[3]++
	if _, err := a.Peer(other); !errors.Is(err, ErrAddress) {
		t.Errorf("another address of the same rank: %v", err)
	}
}

// dialed connects to a node as a stranger.
func dialed(t *testing.T, n *Node) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", n.Address().At.String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// Strangers get no answer to nonsense, and no more of them are served at once than the bound says.
func TestStrangers(t *testing.T) {
	b := newEnd(t, 2, 0)
	b.Expect()
	c := dialed(t, b.Node)
	if _, err := c.Write(make([]byte, helloBytes)); err != nil {
		t.Fatal(err)
	}
	if data, err := io.ReadAll(c); len(data) > 0 {
		t.Errorf("an answer of %d bytes, %v", len(data), err)
	}
	for range maxStrangers {
		dialed(t, b.Node)
	}
	if _, err := dialed(t, b.Node).Read(make([]byte, 1)); err == nil {
		t.Error("one more was served")
	}
}

// One that knows the secret and then announces too much loses its connection, no more.
func TestTooLongAnAnnouncement(t *testing.T) {
	b := newEnd(t, 2, 0)
	b.Expect()
	c := dialed(t, b.Node)
	if err := introduce(c, Address{Job: 9, Rank: 4}, b.Address()); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Write([]byte{0xff, 0xff, 0xff, 0xff, 1}); err != nil {
		t.Fatal(err)
	}
	if f := b.next(t); !errors.Is(f.Err, ErrGone) || f.Peer.id.job != 9 || f.Peer.id.rank != 4 {
		t.Errorf("%+v", f)
	}
	again := dialed(t, b.Node)
	if err := introduce(again, Address{Job: 9, Rank: 4}, b.Address()); err != nil {
		t.Fatal(err)
	}
	if _, err := again.Read(make([]byte, 1)); err == nil {
		t.Error("a second connection of the same rank was served")
	}
}

func FuzzParseAddress(f *testing.F) {
	f.Add(make([]byte, AddressBytes))
	b := Address{Job: 7, Rank: 3, At: netip.MustParseAddrPort("10.1.2.3:99")}.Encode()
	f.Add(b[:])
	f.Fuzz(func(t *testing.T, data []byte) {
		a, err := ParseAddress(data)
		if err != nil {
			return
		}
		again := a.Encode()
		if back, err := ParseAddress(again[:]); err != nil || back != a {
			t.Errorf("%+v, %v, want %+v", back, err, a)
		}
	})
}

// Hosts have addresses of both families, and those of one link name their device.
func TestListenAtEachKindOfAddress(t *testing.T) {
	for _, host := range []string{"127.0.0.1", "::ffff:127.0.0.1", "::1", "::1%lo"} {
		t.Run(host, func(t *testing.T) {
			n, err := Listen(Address{Job: 1}, netip.MustParseAddr(host), func() {})
			if errors.Is(err, unix.EADDRNOTAVAIL) || errors.Is(err, unix.EAFNOSUPPORT) {
				t.Skipf("this host has no IPv6: %v", err)
			}
			if err != nil {
				t.Fatal(err)
			}
			defer n.Close()
			c, err := net.Dial("tcp", n.Address().At.String())
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			n.Expect()
			n.Expect()
			c.SetReadDeadline(time.Now().Add(20 * time.Second))
			if _, err := c.Write(make([]byte, 1<<10)); err != nil {
				t.Fatal(err)
			}
			if _, err := c.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("a stranger who was accepted late got %v, want the end of its connection", err)
			}
		})
	}
}

func TestListenAtAnAddressOfNobody(t *testing.T) {
	for _, host := range []string{"192.0.2.1", "fe80::1%no-such-device"} {
		if n, err := Listen(Address{Job: 1}, netip.MustParseAddr(host), func() {}); err == nil {
			n.Close()
			t.Errorf("listens at %s, which is no address of this host", host)
		}
	}
}

// TestReadySpacesItsCalls: a rank that sleeps in short turns asks Ready at each of them, and a look
// for connections is a system call.
func TestReadySpacesItsCalls(t *testing.T) {
	a, b := newEnd(t, 1, 0), newEnd(t, 2, 0)
	a.send(t, peerOf(t, a.Node, b.Address()), []byte("x"))
	b.looked = time.Now().Add(time.Hour)
	for range 1000 {
		if b.Ready() || b.listener.strangers.Load() != 0 || len(b.known) != 0 {
			t.Fatal("it looked for connections")
		}
	}
	b.looked = time.Time{}
	if f := b.next(t); string(f.Data) != "x" {
		t.Errorf("%+v", f)
	}
}
