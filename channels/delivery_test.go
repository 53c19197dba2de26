package channels

import (
	"bytes"
	"errors"
	"score/channels/abi"
	"score/channels/release"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"
)

// apartImage is the image of rank 0, alone on its node.
func apartImage(t testing.TB, ranks uint32, g abi.Geometry) (*Image, *Inbox) {
	t.Helper()
	g.Ranks, g.LocalRanks = ranks, 1
	img, err := Create(Identity{Job: 1}, g, []uint32{0})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { img.Close() })
	in, err := img.Inbox(nil)
	if err != nil {
		t.Fatal(err)
	}
	return img, in
}

func deliver(t testing.TB, img *Image) *Delivery {
	t.Helper()
	d, err := img.Delivery()
	if err != nil {
		t.Fatal(err)
	}
	return &d
}

// deliveryModel is what has been delivered to an inbox and not been released, by rank.
type deliveryModel struct {
	t       testing.TB
	img     *Image
	in      *Inbox
	partial map[uint32]*coming  // messages with frames to come
	queues  map[uint32][][]byte // in the order of their first frames
	held    []Message
	serial  int
}

type coming struct {
	data []byte
	got  int
}

// frame delivers the next frame of a rank, as a new driver.
func (m *deliveryModel) frame(r *rapid.T) {
	d := deliver(m.t, m.img)
	rank := rapid.Uint32Range(1, 5).Draw(r, "rank")
	if p := m.partial[rank]; p != nil {
		n := rapid.IntRange(1, len(p.data)-p.got).Draw(r, "frame")
		complete, err := d.More(rank, p.data[p.got:p.got+n])
		p.got += n
		if err != nil || complete != (p.got == len(p.data)) {
			r.Fatal(complete, err)
		}
		if complete {
			delete(m.partial, rank)
		}
		return
	}
	m.serial++
	data := text(m.serial, rapid.IntRange(0, 1900).Draw(r, "length"))
	first := rapid.IntRange(0, len(data)).Draw(r, "first")
	err := d.Begin(rank, len(data), data[:first])
	if errors.Is(err, ErrFull) {
		return
	}
	if err != nil {
		r.Fatal(err)
	}
	m.queues[rank] = append(m.queues[rank], data)
	if first < len(data) {
		m.partial[rank] = &coming{data, first}
	}
}

// rewind is what the reader's own driver does while it waits.
func (m *deliveryModel) rewind(*rapid.T) { deliver(m.t, m.img).Rewind() }

func (m *deliveryModel) receive(*rapid.T) {
	if got, ok := m.in.Poll(); ok {
		m.held = append(m.held, got)
	}
}

// release compares the oldest held message, as far as it has arrived, and gives it back.
func (m *deliveryModel) release(r *rapid.T) {
	if len(m.held) == 0 {
		return
	}
	oldest := m.held[0]
	rank := oldest.Rank()
	want := m.queues[rank][0]
	if !bytes.Equal(oldest.Head(), want[:oldest.Available()]) || oldest.Len() != len(want) {
		r.Fatal("not the message that was sent")
	}
	switch err := m.in.Release(oldest); {
	case err == nil:
		m.held, m.queues[rank] = m.held[1:], m.queues[rank][1:]
	case !errors.Is(err, ErrFull) || oldest.Available() == oldest.Len():
		r.Fatal(err)
	}
}

// TestDeliveryModel delivers messages of one and of several frames from ranks of other
// nodes, with a new driver for each frame.
func TestDeliveryModel(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		img, in := apartImage(t, 6, small)
		defer img.Close()
		m := deliveryModel{t: t, img: img, in: in, partial: map[uint32]*coming{}, queues: map[uint32][][]byte{}}
		r.Repeat(map[string]func(*rapid.T){"frame": m.frame, "receive": m.receive, "release": m.release, "rewind": m.rewind})
		if in.Damage() != nil {
			r.Fatal(in.Damage())
		}
	})
}

// TestDeliveryAllocates: what a driver writes needs no page fault, for which there might be no
// memory.
func TestDeliveryAllocates(t *testing.T) {
	g := small
	g.NetBytes = 8 * abi.PageBytes
	for n := uint64(1); n <= abi.Lines(int(g.MaxMessage)); n++ {
		img, _ := apartImage(t, 2, g)
		d := deliver(t, img)
		data := make([]byte, n*abi.LineBytes-abi.RecordBytes)
		for from := d.lane.tail; d.Whole(1, data[:min(len(data), int(g.MaxMessage))]) == nil; from = d.lane.tail {
			for pos := from; pos < d.lane.tail+linesKeptZero; pos++ {
				page := (img.layout.NetRing + (pos&d.lane.mask)*abi.LineBytes) / abi.PageBytes
				if img.pages[page/64]&(1<<(page%64)) == 0 {
					t.Fatalf("messages of %d lines: line %d is not allocated", n, pos)
				}
			}
		}
	}
}

// TestDeliveryStaysNear: as long as the reader keeps up and waits, the same memory is written again
// and again, and as soon as it has looked it has all of the lane.
func TestDeliveryStaysNear(t *testing.T) {
	img, in := apartImage(t, 2, abi.Geometry{})
	data := make([]byte, 1000)
	idle := blocks(t, img)
	for range 5000 {
		if err := deliver(t, img).Whole(1, data); err != nil {
			t.Fatal(err)
		}
		if err := in.Release(mustPoll(t, in)); err != nil {
			t.Fatal(err)
		}
		if img.Far() {
			deliver(t, img).Rewind()
		}
		if _, ok := in.Poll(); ok {
			t.Fatal("a message that nobody sent")
		}
	}
	if got := blocks(t, img) - idle; got > abi.DefaultNetBytes/nearShareOfLane+2*aheadBytes {
		t.Errorf("%d bytes for messages that are read at once", got)
	}
	n, all := 0, int(abi.DefaultNetBytes/abi.LineBytes/abi.Lines(len(data)))
	for ; deliver(t, img).Whole(1, data) == nil; n++ {
		deliver(t, img).Rewind() // the reader has not all
	}
	if n < all-2 {
		t.Errorf("%d messages fit, of %d", n, all)
	}
}

// TestDeliveryMemory: what other nodes send takes as much memory as it needs, and not more than
// once.
func TestDeliveryMemory(t *testing.T) {
	img, in := apartImage(t, 2, abi.Geometry{})
	const longest = abi.DefaultMaxMessage + aheadBytes
	idle := blocks(t, img)
	d := deliver(t, img)
	for range 10 {
		if err := d.Whole(1, []byte("short")); err != nil {
			t.Fatal(err)
		}
	}
	if got := blocks(t, img) - idle; got > longest {
		t.Errorf("%d bytes for short messages", got)
	}
	for range 3 * abi.DefaultNetBytes / abi.DefaultMaxMessage {
		for m, ok := in.Poll(); ok; m, ok = in.Poll() {
			if err := in.Release(m); err != nil {
				t.Fatal(err)
			}
		}
		if err := deliver(t, img).Whole(1, make([]byte, abi.DefaultMaxMessage)); err != nil {
			t.Fatal(err)
		}
	}
	if got := blocks(t, img) - idle; got > abi.DefaultNetBytes {
		t.Errorf("%d bytes for long messages", got)
	}
}

func TestDeliveryRefuses(t *testing.T) {
	img, _ := apartImage(t, 3, small)
	d := deliver(t, img)
	if err := d.Begin(1, 1000, make([]byte, 400)); err != nil {
		t.Fatal(err)
	}
	_, noMessage := d.More(2, nil)
	_, tooMuch := d.More(1, make([]byte, 601))
	for name, c := range map[string]struct{ got, want error }{
		"two at once":  {d.Begin(1, 500, nil), ErrHeld},
		"rank":         {d.Whole(3, nil), ErrRank},
		"too large":    {d.Whole(1, make([]byte, 1901)), ErrTooLarge},
		"first":        {d.Begin(2, 5, make([]byte, 6)), ErrTooLarge},
		"no message":   {noMessage, ErrNotReserved},
		"too much":     {tooMuch, ErrTooLarge},
		"nothing lost": {d.Lose(2), nil},
		"lost rank":    {d.Lose(7), ErrRank},
	} {
		if !errors.Is(c.got, c.want) {
			t.Errorf("%s: %v, want %v", name, c.got, c.want)
		}
	}
}

// TestDeliveryLost: the sender's node died between two frames.
func TestDeliveryLost(t *testing.T) {
	for _, overlap := range []bool{true, false} {
		img, in := apartImage(t, 3, small)
		in.SetOverlap(overlap)
		d := deliver(t, img)
		if err := d.Begin(1, 1000, make([]byte, 400)); err != nil {
			t.Fatal(err)
		}
		if err := d.Whole(2, []byte("behind")); err != nil {
			t.Fatal(err)
		}
		if overlap {
			m := mustPoll(t, in)
			if in.Lost(m) {
				t.Fatal("lost too early")
			}
			if err := d.Lose(1); err != nil {
				t.Fatal(err)
			}
			if !in.Lost(m) || in.Release(m) != nil {
				t.Fatal("not lost, or cannot be given back")
			}
		} else {
			if _, ok := in.Poll(); ok {
				t.Fatal("half a message")
			}
			if err := d.Lose(1); err != nil {
				t.Fatal(err)
			}
		}
		if m := mustPoll(t, in); m.Rank() != 2 || string(m.Head()) != "behind" {
			t.Fatalf("rank %d: %q", m.Rank(), m.Head())
		}
	}
}

// TestDriverDiedInDelivery: the record is there, but the tail was not noted.
func TestDriverDiedInDelivery(t *testing.T) {
	img, in := apartImage(t, 3, small)
	d := deliver(t, img)
	if err := d.Whole(1, []byte("one")); err != nil {
		t.Fatal(err)
	}
	atomic.StoreUint64(d.tail, 0)
	if err := deliver(t, img).Whole(2, []byte("two")); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"one", "two"} {
		if m := mustPoll(t, in); string(m.Head()) != want {
			t.Fatalf("%q, want %q", m.Head(), want)
		}
	}
}

// TestDeliveryWakes: a sleeping owner is woken.
func TestDeliveryWakes(t *testing.T) {
	img, in := apartImage(t, 2, small)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for end := time.Now().Add(patience); time.Now().Before(end); {
			img.Sleep(time.Minute, func() bool { return atomic.LoadUint64(in.rings[1].next) != 0 })
			if _, ok := in.Poll(); ok {
				return
			}
		}
		t.Error("never woken")
	}()
	for !img.Sleeping() {
		Nap()
	}
	if err := deliver(t, img).Whole(1, nil); err != nil {
		t.Fatal(err)
	}
	<-done
}

// TestGuard: a fault in an image is an error, anything else is what it was.
func TestGuard(t *testing.T) {
	img, in := apartImage(t, 2, abi.Geometry{})
	if err := unix.Mprotect(img.mem, unix.PROT_NONE); err != nil {
		t.Fatal(err)
	}
	if err := Guard(func() { in.Poll() }); !errors.Is(err, ErrDamaged) {
		t.Errorf("reading: %v", err)
	}
	if err := Guard(func() { release.Store64(img.counter(0), 1) }); !errors.Is(err, ErrDamaged) {
		t.Errorf("writing: %v", err)
	}
	if err := Guard(func() {}); err != nil {
		t.Error(err)
	}
	defer func() {
		if p := recover(); p != "other" {
			t.Errorf("recovered %v", p)
		}
	}()
	_ = Guard(func() { panic("other") })
}
