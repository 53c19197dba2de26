package udp

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"net/netip"
	"os"
	"score/channels/link"
	"score/channels/link/mmsg"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

// parcel is a datagram that came.
type parcel struct {
	from link.Address
	data []byte
}

// receive waits until count datagrams have come.
func receive(p link.Port, count int) (got []parcel) {
	for len(got) < count {
		p.Receive(func(from link.Address, data []byte) {
			got = append(got, parcel{from, bytes.Clone(data)})
		})
	}
	return got
}

// send queues a datagram.
func send(p *Port, to link.Address, data []byte) { p.Queue(to, put(p, data)) }

// put fills the buffer. Of some datagrams all behind the header is borrowed.
func put(p *Port, data []byte) (n int) {
	n = len(data)
	if n > link.HeadBytes && data[n-1]%2 == 0 {
		n = link.HeadBytes
	}
	copy(p.Buffer(), data[:n])
	p.Borrow(data[n:])
	return n
}

// payloads are datagrams of mixed lengths, with runs of equal ones; at most count, and so few bytes
// that they have room in a receive queue of the size that everybody may have. stamped gives data
// its length, as all datagrams of the protocol have it.
func stamped(data []byte) []byte {
	data[6] = byte(link.Data)
	binary.LittleEndian.PutUint16(data[50:], uint16(len(data)))
	return data
}

func payloads(dice *rand.Rand, count, longest int) (all [][]byte) {
	const maxBytes = 128 << 10
	for sum := 0; len(all) < count; {
		n := link.HeadBytes + dice.IntN(longest-link.HeadBytes)
		if dice.IntN(3) > 0 {
			n = link.HeadBytes + dice.IntN(64)
		}
		for range 1 + dice.IntN(20) {
			if sum += n; sum > maxBytes {
				return all
			}
			data := make([]byte, n)
			for i := range data {
				data[i] = byte(dice.Uint32())
			}
			all = append(all, stamped(data))
		}
	}
	return all[:min(len(all), count)]
}

// TestExchange sends to two ports in turns: all comes, whole, in order, with its sender's address.
func TestExchange(t *testing.T) {
	for _, host := range []string{"127.0.0.1", "::1"} {
		for _, offload := range []string{"both", "sender", "receiver", "none"} {
			t.Run(host+"/"+offload, func(t *testing.T) {
				a, b, c := newPort(t, host), newPort(t, host), newPort(t, host)
				if offload == "receiver" || offload == "none" {
					withoutOffload(t, a)
				}
				if offload == "sender" || offload == "none" {
					withoutOffload(t, b, c)
				}
				exchange(t, a, b, c)
			})
		}
	}
}

func exchange(t *testing.T, a, b, c *Port) {
	dice := rand.New(rand.NewPCG(1, 2))
	longest := a.Size(b.Local())
	for round := range 50 {
		all := payloads(dice, 1+dice.IntN(3*mmsg.Batch), longest/(1+round%10))
		sent := map[*Port][][]byte{}
		for _, data := range all {
			to := b
			if dice.IntN(10) == 0 {
				to = c
			}
			send(a, to.Local(), data)
			sent[to] = append(sent[to], data)
		}
		a.Flush()
		for _, p := range []*Port{b, c} {
			got := receive(p, len(sent[p]))
			if !slices.EqualFunc(got, sent[p], func(x parcel, y []byte) bool { return x.from == a.Local() && bytes.Equal(x.data, y) }) {
				t.Fatalf("round %d: what came is not what was sent", round)
			}
		}
	}
	if s := a.Stats(); s.Dropped > 0 || s.Fragmented > 0 || s.Sent != b.Stats().Received+c.Stats().Received ||
		s.SentBytes != b.Stats().ReceivedBytes+c.Stats().ReceivedBytes {
		t.Errorf("%+v", s)
	}
}

// TestOffload counts system calls: 64 equal datagrams go by one, and come by a few.
func TestOffload(t *testing.T) {
	a, b := newPort(t, "127.0.0.1"), newPort(t, "127.0.0.1")
	if !a.gso || !b.gro {
		t.Skip("no segmentation offload")
	}
	for range mmsg.Batch {
		send(a, b.Local(), stamped(make([]byte, 500)))
	}
	a.Flush()
	got := receive(b, mmsg.Batch)
	if s := a.Stats(); s.Calls != 1 || s.Sent != mmsg.Batch || len(got) != mmsg.Batch {
		t.Errorf("%+v, %d came", s, len(got))
	}
	if s := b.Stats(); s.Received != mmsg.Batch || s.ReceivedBytes != 500*mmsg.Batch {
		t.Errorf("%+v", s)
	}
}

// TestOffloadRefused: a kernel, or a device, that does not cut what it said it would costs nothing
// but speed.
func TestOffloadRefused(t *testing.T) {
	a, b := newPort(t, "127.0.0.1"), newPort(t, "127.0.0.1")
	if !a.gso {
		t.Skip("no segmentation offload")
	}
	// Without checksums the kernel refuses to make segments.
	if err := unix.SetsockoptInt(a.fd, unix.SOL_SOCKET, unix.SO_NO_CHECK, 1); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		for range 10 {
			send(a, b.Local(), stamped(make([]byte, 100)))
		}
		a.Flush()
		receive(b, 10)
	}
	if s := a.Stats(); a.gso || s.Sent != 20 || s.Dropped > 0 {
		t.Errorf("segmentation %v, %+v", a.gso, s)
	}
}

// TestBuffer: the room is the same until it is queued, and a full batch goes by itself.
func TestBuffer(t *testing.T) {
	a, b := newPort(t, "127.0.0.1"), newPort(t, "127.0.0.1")
	first := a.Buffer()
	if second := a.Buffer(); len(first) != link.MaxDatagram || &first[0] != &second[0] {
		t.Error("not the same room before Queue")
	}
	a.Queue(b.Local(), 0)
	if third := a.Buffer(); &first[0] != &third[0] {
		t.Error("an empty datagram was queued")
	}
	for range mmsg.Batch {
		send(a, b.Local(), stamped(make([]byte, link.HeadBytes)))
	}
	if a.Stats().Sent > 0 {
		t.Error("sent before the batch was full")
	}
	a.Buffer()
	if a.Stats().Sent != mmsg.Batch {
		t.Errorf("%+v", a.Stats())
	}
	receive(b, mmsg.Batch)
	for range 2 {
		for range mmsg.ArenaBytes/link.MaxDatagram + 1 {
			a.Queue(b.Local(), len(stamped(a.Buffer())))
		}
		a.Flush()
		receive(b, mmsg.ArenaBytes/link.MaxDatagram+1)
	}
}

// TestLongest: the loopback device takes the longest datagram in one piece, in both families.
func TestLongest(t *testing.T) {
	for _, host := range []string{"127.0.0.1", "::1"} {
		a, b := newPort(t, host), newPort(t, host)
		if size := a.Size(b.Local()); size != link.MaxDatagram {
			t.Errorf("%s: %d", host, size)
		}
		a.Queue(b.Local(), len(a.Buffer()))
		a.Flush()
		if got := receive(b, 1); len(got[0].data) != link.MaxDatagram {
			t.Errorf("%s: %d bytes came", host, len(got[0].data))
		}
		if s := a.Stats(); s.Fragmented > 0 || s.Calls != 1 {
			t.Errorf("%s: %+v", host, s)
		}
	}
}

// TestTwoPortsOnOneSocket: agent and process each have a port on the same socket.
func TestTwoPortsOnOneSocket(t *testing.T) {
	a, b := newPort(t, "127.0.0.1"), newPort(t, "127.0.0.1")
	fd, err := unix.FcntlInt(uintptr(b.Descriptor()), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		t.Fatal(err)
	}
	other, err := New(os.NewFile(uintptr(fd), "copy"))
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	send(a, b.Local(), []byte("one"))
	a.Flush()
	receive(other, 1)
	send(other, a.Local(), []byte("two"))
	other.Flush()
	if got := receive(a, 1); got[0].from != b.Local() {
		t.Errorf("from %v, want %v", got[0].from, b.Local())
	}
}

func TestNewRefuses(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	if _, err := New(r); !errors.Is(err, ErrSocket) {
		t.Errorf("a pipe: %v", err)
	}
	for name, kind := range map[string][2]int{"stream": {unix.AF_INET, unix.SOCK_STREAM}, "local": {unix.AF_UNIX, unix.SOCK_DGRAM}} {
		fd, err := unix.Socket(kind[0], kind[1]|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		f := os.NewFile(uintptr(fd), name)
		if _, err := New(f); !errors.Is(err, ErrSocket) {
			t.Errorf("%s: %v", name, err)
		}
		f.Close()
		if _, err := New(f); !errors.Is(err, ErrSocket) {
			t.Errorf("closed: %v", err)
		}
	}
	for _, host := range []netip.Addr{{}, netip.MustParseAddr("192.0.2.77"), netip.MustParseAddr("fe80::1%nothing")} {
		if f, _, err := Listen(host); err == nil {
			t.Errorf("listens at %v", host)
			f.Close()
		}
	}
}

func TestPortAllocatesNothing(t *testing.T) {
	for _, offload := range []bool{true, false} {
		a, b := newPort(t, "127.0.0.1"), newPort(t, "127.0.0.1")
		if !offload {
			withoutOffload(t, a, b)
		}
		count, take := 0, func(link.Address, []byte) {}
		turn := func() {
			sent := 1 + count%mmsg.Batch
			count++
			for range sent {
				a.Buffer()
				a.Queue(b.Local(), min(1000, a.Size(b.Local())))
			}
			a.Flush()
			for got := 0; got < sent; {
				got += b.Receive(take)
			}
		}
		for range 2 * mmsg.Batch {
			turn() // the first ones make the buffers
		}
		if n := testing.AllocsPerRun(2*mmsg.Batch, turn); n > 0 {
			t.Errorf("offload %v: %v allocations", offload, n)
		}
	}
}
