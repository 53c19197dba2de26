package channels

import (
	"bytes"
	"encoding/binary"
	"errors"
	"runtime"
	"score/channels/abi"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

// small rings make every history meet their ends.
var small = abi.Geometry{Lanes: 4, LaneBytes: 4096, SharedBytes: 4096, SendBytes: 4096, MaxMessage: 1900}

// TestInboxModel compares an inbox with a queue per sender: what is sent comes, once and in order,
// whatever the order of giving back; a refusal changes nothing.
func TestInboxModel(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		m := newInboxModel(t, r)
		r.Repeat(map[string]func(*rapid.T){
			"send": m.send, "poll": m.poll, "each": m.each, "release": m.release, "": m.check,
		})
		m.drain(r)
	})
}

// inboxModel is an inbox, its senders, and the messages on their way.
type inboxModel struct {
	img     *Image
	in      *Inbox
	senders []*Sender
	queues  [][][]byte // by sender: what was sent and has not come
	held    []receivedMessage
	sent    int
}

// receivedMessage is a message that came and was not given back.
type receivedMessage struct {
	m    Message
	want []byte
}

func newInboxModel(t *testing.T, r *rapid.T) *inboxModel {
	ranks := rapid.SampledFrom([]uint32{3, 9}).Draw(r, "ranks")
	img := heapImage(t, ranks, small)
	in, err := img.Inbox(nil)
	if err != nil {
		r.Fatal(err)
	}
	return &inboxModel{img: img, in: in, senders: make([]*Sender, ranks), queues: make([][][]byte, ranks)}
}

func (m *inboxModel) sender(r *rapid.T, rank int) *Sender {
	if m.senders[rank] == nil {
		s, err := m.img.Sender(uint32(rank))
		if err != nil {
			r.Fatal(err)
		}
		m.senders[rank] = s
	}
	return m.senders[rank]
}

func (m *inboxModel) send(r *rapid.T) {
	rank := rapid.IntRange(0, len(m.senders)-1).Draw(r, "rank")
	s := m.sender(r, rank)
	length := rapid.OneOf(rapid.IntRange(0, 60), rapid.IntRange(0, 1900)).Draw(r, "length")
	m.sent++
	data := text(m.sent, length)
	room, ready := s.Room(), s.Ready(length)
	err := sendBy(s, data, rapid.IntRange(0, 2).Draw(r, "way"))
	if (err == nil) != (ready == nil) || err != nil && !errors.Is(err, ErrFull) {
		r.Fatalf("Ready returned %v, sending %v", ready, err)
	}
	if err != nil && s.open && length <= room {
		r.Fatalf("%d bytes refused, room was %d", length, room)
	}
	if err == nil {
		m.queues[rank] = append(m.queues[rank], data)
	}
}

// sendBy sends data in one of three ways.
func sendBy(s *Sender, data []byte, way int) error {
	switch way {
	case 0:
		return s.Send(data)
	case 1:
		buf, err := s.Reserve(len(data))
		if err != nil {
			return err
		}
		copy(buf, data)
		return s.Commit()
	default:
		h := headOf(data)
		return s.SendHead(h, data[h.bytes():])
	}
}

// takeNext takes the oldest message of a sender from the model, and compares it with what came.
func (m *inboxModel) takeNext(r *rapid.T, rank int, data []byte) []byte {
	q := m.queues[rank]
	if len(q) == 0 || !bytes.Equal(data, q[0]) {
		r.Fatalf("rank %d: %d bytes that are not the next", rank, len(data))
	}
	m.queues[rank] = q[1:]
	return q[0]
}

// pollOne polls, and reports whether a message came, which is then held.
func (m *inboxModel) pollOne(r *rapid.T) bool {
	message, ok := m.in.Poll()
	if !ok {
		return false
	}
	want := m.takeNext(r, int(message.Rank()), message.Head())
	if message.Len() != len(want) {
		r.Fatalf("a message of %d bytes has length %d", len(want), message.Len())
	}
	m.held = append(m.held, receivedMessage{message, want})
	return true
}

func (m *inboxModel) poll(r *rapid.T) { m.pollOne(r) }

func (m *inboxModel) each(r *rapid.T) {
	limit := rapid.IntRange(1, 2*burst).Draw(r, "limit")
	met := 0
	n := m.in.Each(limit, func(rank int, data []byte) {
		m.takeNext(r, rank, data)
		met++
	})
	if n != met || n > limit {
		r.Fatalf("%d messages of at most %d, %d were met", n, limit, met)
	}
}

func (m *inboxModel) release(r *rapid.T) {
	if len(m.held) == 0 {
		return
	}
	i := rapid.IntRange(0, len(m.held)-1).Draw(r, "which")
	if err := m.in.Release(m.held[i].m); err != nil {
		r.Fatal(err)
	}
	m.held = append(m.held[:i], m.held[i+1:]...)
}

func (m *inboxModel) check(r *rapid.T) {
	for _, h := range m.held {
		if !bytes.Equal(h.m.Head(), h.want) {
			r.Fatalf("a message changed while it was held")
		}
	}
	if m.in.Damage() != nil {
		r.Fatal(m.in.Damage())
	}
}

// drain gives all messages back and polls until nothing comes any more: then nothing is left.
func (m *inboxModel) drain(r *rapid.T) {
	for misses := 0; misses < 8; {
		for _, h := range m.held {
			if err := m.in.Release(h.m); err != nil {
				r.Fatal(err)
			}
		}
		m.held = nil
		if !m.pollOne(r) {
			misses++
		}
	}
	for rank, q := range m.queues {
		if len(q) > 0 {
			r.Fatalf("%d messages of rank %d never came", len(q), rank)
		}
	}
}

// headOf is a message's beginning as a head: as many words as there are.
func headOf(data []byte) (h Head) {
	if len(data) >= 8 {
		h.First, h.Words = binary.LittleEndian.Uint64(data), 1
	}
	if len(data) >= 16 {
		h.Second, h.Words = binary.LittleEndian.Uint64(data[8:]), 2
	}
	if len(data) >= 24 {
		h.Third, h.Words = binary.LittleEndian.Uint64(data[16:]), 3
	}
	return h
}

// TestEachEndsWithItsInbox: a function that closes the inbox is not called again, and its message
// is not given back.
func TestEachEndsWithItsInbox(t *testing.T) {
	in, s := newPair(t, 2, small)
	for range 3 {
		if err := s.Send(text(1, 8)); err != nil {
			t.Fatal(err)
		}
		if m, ok := in.Poll(); ok { // the first opens the lane
			_ = in.Release(m)
		}
	}
	for range 3 {
		if err := s.Send(text(1, 8)); err != nil {
			t.Fatal(err)
		}
	}
	met := 0
	n := in.Each(3, func(int, []byte) { met++; in.Close() })
	if n != 1 || met != 1 {
		t.Errorf("%d messages, the function was called %d times", n, met)
	}
}

// TestManySenders has goroutines send at once, some in lanes and some in the
// shared ring; in ordinary memory, so that the race detector watches.
func TestManySenders(t *testing.T) {
	const ranks = 6
	img := heapImage(t, ranks, small) // three lanes for six senders
	in, err := img.Inbox(nil)
	if err != nil {
		t.Fatal(err)
	}
	exchangeMany(t, img, in, ranks, nil)
	if img.Counter(abi.LanesOpened) != 3 {
		t.Errorf("%d lanes, want 3", img.Counter(abi.LanesOpened))
	}
}

// exchangeMany has each rank send 3,000 messages to the inbox, and checks each. sent, if not nil,
// is called after each message, by the goroutine of its sender.
func exchangeMany(t *testing.T, img *Image, in *Inbox, ranks int, sent func(s *Sender, rank, i uint32)) {
	t.Helper()
	const each = 3000
	var all sync.WaitGroup
	for rank := range uint32(ranks) {
		s, err := img.Sender(rank)
		if err != nil {
			t.Fatal(err)
		}
		all.Go(func() {
			for i := range uint32(each) {
				data := make([]byte, 8+i%300)
				binary.LittleEndian.PutUint32(data, i)
				for s.Send(data) != nil {
					runtime.Gosched()
				}
				if sent != nil {
					sent(s, rank, i)
				}
			}
		})
	}
	next := make([]uint32, ranks)
	for got := 0; got < ranks*each; {
		m, ok := in.Poll()
		if !ok {
			runtime.Gosched()
			continue
		}
		i := binary.LittleEndian.Uint32(m.Head())
		if i != next[m.Rank()] || m.Len() != int(8+i%300) {
			t.Fatalf("rank %d: message %d, want %d; %d bytes", m.Rank(), i, next[m.Rank()], m.Len())
		}
		next[m.Rank()]++
		got++
		if err := in.Release(m); err != nil {
			t.Fatal(err)
		}
	}
	all.Wait()
}

// TestHeadBeforeTail reads the head of a message before its tail is there.
func TestHeadBeforeTail(t *testing.T) {
	in, out := newPair(t, 2, abi.Geometry{})
	if err := out.Send(nil); err != nil { // opens the lane
		t.Fatal(err)
	}
	if err := in.Release(mustPoll(t, in)); err != nil {
		t.Fatal(err)
	}
	pos := out.lane.tail
	data := text(3, 20000)
	if !out.lane.fits(abi.Lines(len(data))) {
		t.Fatal("no space")
	}
	copy(out.lane.payload(len(data)), data[:5000])
	out.commitAt(pos, len(data), abi.KindGrowing, 5000)
	in.SetOverlap(false)
	if _, ok := in.Poll(); ok {
		t.Fatal("without overlap, half a message was returned")
	}
	in.SetOverlap(true)
	m := mustPoll(t, in)
	if m.Len() != 20000 || m.Available() != 5000 || !bytes.Equal(m.Head(), data[:5000]) {
		t.Fatalf("%d of %d bytes", m.Available(), m.Len())
	}
	if err := in.Release(m); !errors.Is(err, ErrFull) {
		t.Fatalf("gave a message back that is still being written: %v", err)
	}
	copy(out.lane.bytes(pos, len(data)), data)
	out.lane.setProgress(pos, 20000)
	if !bytes.Equal(m.Head(), data) {
		t.Fatal("the tail differs")
	}
	if err := in.Release(m); err != nil {
		t.Fatal(err)
	}
	if err := in.Release(m); !errors.Is(err, ErrNotReserved) {
		t.Fatalf("given back twice: %v", err)
	}
}

// TestImmediateSwitch sends the same with and without becoming visible early.
func TestImmediateSwitch(t *testing.T) {
	for _, on := range []bool{true, false} {
		in, out := newPair(t, 2, abi.Geometry{})
		out.SetImmediate(on)
		for i := range 20 {
			data := text(i, 60000)
			if err := out.Send(data); err != nil {
				t.Fatal(err)
			}
			m := mustPoll(t, in)
			if m.growing() != on || !bytes.Equal(m.Head(), data) {
				t.Fatalf("immediate %v: growing %v", on, m.growing())
			}
			if err := in.Release(m); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestStates(t *testing.T) {
	in, out := newPair(t, 2, abi.Geometry{})
	if err := out.Send([]byte("last")); err != nil {
		t.Fatal(err)
	}
	in.Close()
	if err := out.Send(nil); !errors.Is(err, ErrClosed) {
		t.Errorf("closed: %v", err)
	}
	out.img.SetState(abi.StateGone)
	if _, err := out.Reserve(1); !errors.Is(err, ErrGone) {
		t.Errorf("gone: %v", err)
	}
	if err := out.Commit(); !errors.Is(err, ErrNotReserved) {
		t.Errorf("commit: %v", err)
	}
	if _, err := out.img.Sender(2); !errors.Is(err, ErrRank) {
		t.Errorf("rank: %v", err)
	}
}

// TestCounters looks at what an outsider sees.
func TestCounters(t *testing.T) {
	in, out := newPair(t, 2, abi.Geometry{})
	for range 100 {
		if err := out.Send(make([]byte, 10)); err != nil {
			t.Fatal(err)
		}
		if err := in.Release(mustPoll(t, in)); err != nil {
			t.Fatal(err)
		}
	}
	if n := in.img.Counter(abi.Received); n < 100-abi.PublishEvery {
		t.Errorf("%d received without a pause", n)
	}
	in.Poll()
	if n, b := in.img.Counter(abi.Received), in.img.Counter(abi.ReceivedBytes); n != 100 || b != 1000 {
		t.Errorf("%d messages, %d bytes received", n, b)
	}
	in.img.Show(&Tally{Sent: 3, SentBytes: 5, Refused: 7, Sleeps: 9, Wakes: 11})
	for c, want := range map[abi.Counter]uint64{abi.Sent: 3, abi.SentBytes: 5, abi.Refused: 7, abi.Sleeps: 9, abi.Wakes: 11, 9999: 0} {
		if got := in.img.Counter(c); got != want {
			t.Errorf("counter %d is %d, want %d", c, got, want)
		}
	}
}
