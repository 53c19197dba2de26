package tipc

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"score/channels/link"
	"score/channels/link/mmsg"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Tests that need a kernel with TIPC; where it has none, tests/tipc runs them in a guest that has.

// patience ends a test that hangs.
const patience = 20 * time.Second

func needKernel(t testing.TB) {
	t.Helper()
	if err := Check(); err != nil {
		t.Skip(err, "(tests/tipc runs this in a guest)")
	}
}

// instance is a name that no other test has.
var instance = uint32(os.Getpid()) << 8

func newName() link.Address {
	instance++
	return link.NameAddress(DefaultType, instance)
}

// newPort opens a socket with the name, or with none.
func newPort(t testing.TB, name link.Address) *Port {
	t.Helper()
	file, err := Listen(name)
	if err != nil {
		t.Fatal(err)
	}
	p, err := New(file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

// parcel is a datagram that came.
type parcel struct {
	from link.Address
	data []byte
}

func receive(t testing.TB, p *Port, count int) (got []parcel) {
	t.Helper()
	for end := time.Now().Add(patience); len(got) < count; {
		if time.Now().After(end) {
			t.Fatalf("%d of %d datagrams came", len(got), count)
		}
		p.Receive(func(from link.Address, data []byte) { got = append(got, parcel{from, bytes.Clone(data)}) })
	}
	return got
}

func send(p *Port, to link.Address, data []byte) { p.Queue(to, copy(p.Buffer(), data)) }

// TestPort sends datagrams of all lengths, alone and many at once, to a name and to a socket.
func TestPort(t *testing.T) {
	needKernel(t)
	name := newName()
	a, b := newPort(t, link.Address{}), newPort(t, name)
	dice := rand.New(rand.NewPCG(1, 2))
	for _, to := range []link.Address{name, b.Local()} {
		for round := range 20 {
			var sent [][]byte
			for range 1 + round {
				data := make([]byte, 1+dice.IntN(10+dice.IntN(link.MaxDatagram-10)))
				for i := range data {
					data[i] = byte(dice.Uint32())
				}
				sent = append(sent, data)
				send(a, to, data)
			}
			a.Flush()
			for i, got := range receive(t, b, len(sent)) {
				if got.from != a.Local() || !bytes.Equal(got.data, sent[i]) {
					t.Fatalf("to %v: datagram %d: %d bytes from %v, want %d from %v", to, i, len(got.data), got.from, len(sent[i]), a.Local())
				}
			}
		}
	}
	if s := a.Stats(); s.Dropped > 0 || s.Sent == 0 || s.SentBytes == 0 {
		t.Errorf("%+v", s)
	}
	longest := make([]byte, link.MaxDatagram)
	send(a, name, longest)
	a.Flush()
	if got := receive(t, b, 1)[0]; !bytes.Equal(got.data, longest) {
		t.Errorf("%d bytes of the longest", len(got.data))
	}
}

// TestUnboundName: a name that nobody has is no loss, and a socket that is gone does not stop the
// sender.
func TestUnboundName(t *testing.T) {
	needKernel(t)
	a, b := newPort(t, link.Address{}), newPort(t, link.Address{})
	send(a, newName(), []byte("to nobody"))
	a.Flush()
	if s := a.Stats(); s.Sent != 0 || s.Dropped != 0 {
		t.Errorf("%+v", s)
	}
	gone, c := b.Local(), newPort(t, link.Address{})
	b.Close()
	send(a, gone, []byte("to a closed socket"))
	send(a, c.Local(), []byte("to another"))
	a.Flush()
	if got := receive(t, c, 1)[0]; string(got.data) != "to another" {
		t.Errorf("%q", got.data)
	}
}

// TestEachReceives: what is sent to a name comes to each that has bound it, so that a squatter
// takes nothing away.
func TestEachReceives(t *testing.T) {
	needKernel(t)
	name := newName()
	squatter, right, asker := newPort(t, name), newPort(t, name), newPort(t, link.Address{})
	send(asker, name, []byte("where are you?"))
	asker.Flush()
	for _, p := range []*Port{squatter, right} {
		if got := receive(t, p, 1)[0]; string(got.data) != "where are you?" || got.from != asker.Local() {
			t.Errorf("%q from %v", got.data, got.from)
		}
	}
}

// TestTooLong: the kernel takes 66,000 bytes, and not one more; a port passes on what is a
// datagram.
func TestTooLong(t *testing.T) {
	needKernel(t)
	a, b := newPort(t, link.Address{}), newPort(t, link.Address{})
	to := b.Local()
	if err := mmsg.Send(a.fd, make([]byte, unix.TIPC_MAX_USER_MSG_SIZE+1), to.Raw()); err != unix.EMSGSIZE {
		t.Errorf("%d bytes: %v", unix.TIPC_MAX_USER_MSG_SIZE+1, err)
	}
	if err := mmsg.Send(a.fd, make([]byte, unix.TIPC_MAX_USER_MSG_SIZE), to.Raw()); err != 0 {
		t.Errorf("%d bytes: %v", unix.TIPC_MAX_USER_MSG_SIZE, err)
	}
	send(a, to, []byte("right"))
	a.Flush()
	if got := receive(t, b, 1)[0]; string(got.data) != "right" || b.Stats().Truncated != 1 {
		t.Errorf("%d bytes, %+v", len(got.data), b.Stats())
	}
}

// next waits for an event.
func next(t *testing.T, w *Watcher) Event {
	t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); {
		fds := []unix.PollFd{{Fd: int32(w.Descriptor()), Events: unix.POLLIN}}
		_, _ = unix.Poll(fds, 100)
		e, ok, err := w.Next()
		if err != nil {
			t.Fatal(err)
		}
		if ok {
			return e
		}
	}
	t.Fatal("no event")
	return Event{}
}

// TestWatch: a name is published when it is bound and withdrawn when it is given up, or its socket
// closed; other names' events do not come.
func TestWatch(t *testing.T) {
	needKernel(t)
	w, err := Watch()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	name, other := newName(), newName()
	kind, at, _ := name.Name()
	r := Range{kind, at, at}
	if err := w.Subscribe(r, 42); err != nil {
		t.Fatal(err)
	}
	p := newPort(t, link.Address{})
	newPort(t, other)
	want := Event{First: at, Last: at, Socket: p.Local(), Range: r, Handle: 42}
	for range 2 { // it may be bound again
		for _, gone := range []bool{false, true} {
			change := Publish
			if gone {
				change = Withdraw
			}
			if err := change(p.Descriptor(), name); err != nil {
				t.Fatal(err)
			}
			want.Gone = gone
			if e := next(t, w); e != want {
				t.Fatalf("%+v, want %+v", e, want)
			}
		}
	}
	if err := Publish(p.Descriptor(), name); err != nil {
		t.Fatal(err)
	}
	next(t, w)
	p.Close()
	if e := next(t, w); !e.Gone {
		t.Errorf("%+v", e)
	}
	if err := w.Cancel(r, 42); err != nil {
		t.Fatal(err)
	}
	newPort(t, name)
	if e, ok, err := w.Next(); ok || err != nil {
		t.Errorf("%+v, %v after the end of the subscription", e, err)
	}
}

// TestWatchEnds: a wait for events of a lost connection ends with its error, each time.
func TestWatchEnds(t *testing.T) {
	needKernel(t)
	w, err := Watch()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if _, ok, err := w.Next(); ok || err != nil {
		t.Fatal(ok, err)
	}
	if err := unix.Shutdown(w.Descriptor(), unix.SHUT_RDWR); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, ok, err := w.Next(); ok || !errors.Is(err, io.EOF) {
			t.Errorf("%v, %v", ok, err)
		}
	}
	if err := w.Subscribe(Range{DefaultType, 1, 2}, 1); err == nil {
		t.Error("a lost connection takes a subscription")
	}
}

func TestNewRefuses(t *testing.T) {
	file, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := New(file); !errors.Is(err, ErrSocket) {
		t.Errorf("a file: %v", err)
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	socket := os.NewFile(uintptr(fd), "udp")
	defer socket.Close()
	if _, err := New(socket); !errors.Is(err, ErrSocket) {
		t.Errorf("a UDP socket: %v", err)
	}
}

// BenchmarkPingPong sends a datagram there and back, by the port's calls.
func BenchmarkPingPong(b *testing.B) {
	needKernel(b)
	for _, size := range []int{8, 4096, 32 << 10, link.MaxDatagram} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			x, y := newPort(b, link.Address{}), newPort(b, link.Address{})
			data := make([]byte, size)
			pass := func(from, to *Port) {
				send(from, to.Local(), data)
				from.Flush()
				for to.Receive(func(link.Address, []byte) {}) == 0 {
				}
			}
			b.ReportAllocs()
			for b.Loop() {
				pass(x, y)
				pass(y, x)
			}
		})
	}
}

var _ io.Closer = (*Watcher)(nil)
