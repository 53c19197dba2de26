package reliable

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// world is two stewards and a bad way between them.
type world struct {
	now       time.Time
	endpoints [2]*Endpoint
	way       []messageFrom
	got       map[string]int // how often each message was read
	lost      map[string]bool
}

type messageFrom struct {
	from int
	Message
}

func peerOf(i int) Peer { return Peer{Job: 7, Node: uint32(i)} }

func newWorld() *world {
	return &world{now: time.Unix(1000, 0), endpoints: [2]*Endpoint{New(11), New(12)}, got: map[string]int{}, lost: map[string]bool{}}
}

func (w *world) send(from int, text string) error {
	l, now, err := w.endpoints[from].Send(w.now, peerOf(1-from), []byte(text), SendOptions{})
	if now {
		w.way = append(w.way, messageFrom{from, l})
	}
	return err
}

// deliver has the i-th message on the way arrive.
func (w *world) deliver(i int) {
	l := w.way[i]
	to := w.endpoints[1-l.from]
	if to.Receive(w.now, peerOf(l.from), l.Header) {
		w.got[string(l.Data)]++
	}
}

func (w *world) drop(i int) { w.way = append(w.way[:i:i], w.way[i+1:]...) }

func (w *world) put(from int, messages []Message) {
	for _, l := range messages {
		w.way = append(w.way, messageFrom{from, l})
	}
}

// tick lets time pass up to the first deadline; it is false when there is none.
func (w *world) tick() bool {
	var first time.Time
	for _, o := range w.endpoints {
		if d := o.Deadline(); !d.IsZero() && (first.IsZero() || d.Before(first)) {
			first = d
		}
	}
	if first.IsZero() {
		return false
	}
	if first.After(w.now) {
		w.now = first
	}
	for i, o := range w.endpoints {
		messages, lost := o.Tick(w.now)
		w.put(i, messages)
		for _, l := range lost {
			w.lost[string(l.Data)] = true
		}
	}
	return true
}

// TestExactlyOnceDelivery: whatever the way does, each message is read once when the way is good in
// the end, and nothing is kept or due then.
func TestExactlyOnceDelivery(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld()
		for _, o := range w.endpoints {
			o.window = rapid.SampledFrom([]int{1, 3, maxTransit}).Draw(t, "window")
		}
		sent := 0
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			switch rapid.SampledFrom([]string{"send", "deliver", "twice", "drop", "tick", "again", "pause"}).Draw(t, "step") {
			case "send":
				sent++
				if err := w.send(rapid.IntRange(0, 1).Draw(t, "from"), fmt.Sprint(sent)); err != nil {
					t.Fatal(err)
				}
			case "deliver", "twice":
				if len(w.way) > 0 {
					i := rapid.IntRange(0, len(w.way)-1).Draw(t, "which")
					w.deliver(i)
					if rapid.Bool().Draw(t, "keep") {
						continue
					}
					w.drop(i)
				}
			case "drop":
				if len(w.way) > 0 {
					w.drop(rapid.IntRange(0, len(w.way)-1).Draw(t, "which"))
				}
			case "tick":
				if w.now.Before(time.Unix(1020, 0)) { // within the patience
					w.tick()
				}
			case "again":
				i := rapid.IntRange(0, 1).Draw(t, "whose")
				w.put(i, w.endpoints[i].ResendAll(w.now))
			case "pause":
				w.endpoints[rapid.IntRange(0, 1).Draw(t, "whose")].SetPause(w.now, rapid.Bool().Draw(t, "pause"))
			}
		}
		for _, o := range w.endpoints {
			o.SetPause(w.now, false)
		}
		for {
			for len(w.way) > 0 {
				w.deliver(0)
				w.drop(0)
			}
			if !w.tick() {
				break
			}
			if w.now.After(time.Unix(2000, 0)) {
				t.Fatal("it never ends")
			}
		}
		for i := 1; i <= sent; i++ {
			if n := w.got[fmt.Sprint(i)]; n != 1 {
				t.Fatalf("message %d was read %d times", i, n)
			}
		}
		for i, o := range w.endpoints {
			if o.open != 0 || o.bytes != 0 || o.transit != 0 || o.waiting != 0 || o.Paused() || len(o.peer(peerOf(1-i)).beyond) != 0 {
				t.Fatalf("endpoint %d keeps %d messages of %d bytes", i, o.open, o.bytes)
			}
		}
	})
}

// TestUnreachablePeer: a peer out of reach is given up after the patience, one that is gone at
// once; what is sent later arrives all the same.
func TestUnreachablePeer(t *testing.T) {
	w := newWorld()
	for _, text := range []string{"a", "b", "c"} {
		if err := w.send(0, text); err != nil {
			t.Fatal(err)
		}
	}
	if l, ok := w.endpoints[0].Withdraw(w.now, peerOf(1), w.way[1].Number); !ok || string(l.Data) != "b" {
		t.Fatalf("%q, %v", l.Data, ok)
	}
	if _, ok := w.endpoints[0].Withdraw(w.now, peerOf(1), w.way[1].Number); ok {
		t.Fatal("gone twice")
	}
	begin := w.now
	repeated := 0
	for w.way = nil; w.tick(); w.way = nil {
		repeated += len(w.way)
	}
	if !w.lost["a"] || !w.lost["c"] || w.lost["b"] || w.now.Sub(begin) != Timeout {
		t.Fatalf("after %v lost %v", w.now.Sub(begin), w.lost)
	}
	if repeated != 2*5 { // after 1, 3, 7, 15 and 23 s
		t.Errorf("%d repetitions", repeated)
	}
	if err := w.send(0, "d"); err != nil {
		t.Fatal(err)
	}
	w.deliver(0)
	if w.got["d"] != 1 || w.endpoints[1].peers[peerOf(0)].upTo != 4 {
		t.Fatalf("got %v, up to %d", w.got, w.endpoints[1].peers[peerOf(0)].upTo)
	}
}

// TestSendOptions: a message can be repeated sooner and given up sooner than others, and keeps its
// kind.
func TestSendOptions(t *testing.T) {
	w := newWorld()
	const kind = 3
	options := SendOptions{Kind: kind, RepeatAfter: repeatAfter / 4, Timeout: Timeout / 2}
	if _, _, err := w.endpoints[0].Send(w.now, peerOf(1), []byte("a"), options); err != nil {
		t.Fatal(err)
	}
	begin := w.now
	var after []time.Duration
	for w.tick() {
		for _, l := range w.way {
			if l.Kind != kind {
				t.Errorf("kind %d", l.Kind)
			}
			after = append(after, w.now.Sub(begin))
		}
		w.way = nil
	}
	want := []time.Duration{repeatAfter / 4, 3 * repeatAfter / 4, 7 * repeatAfter / 4, 15 * repeatAfter / 4, 31 * repeatAfter / 4}
	if !slices.Equal(after, want) || w.now.Sub(begin) != Timeout/2 || !w.lost["a"] {
		t.Errorf("repeated after %v, given up after %v", after, w.now.Sub(begin))
	}
}

// TestAcknowledgement goes by itself after a while, or with the next message; one that
// was lost is said again when the message is repeated.
func TestAcknowledgement(t *testing.T) {
	w := newWorld()
	if err := w.send(0, "a"); err != nil {
		t.Fatal(err)
	}
	w.deliver(0)
	w.way = nil
	if err := w.send(1, "b"); err != nil {
		t.Fatal(err)
	}
	w.deliver(0)
	w.way = nil
	if w.endpoints[0].open != 0 {
		t.Fatal("not acknowledged")
	}
	w.tick() // b is acknowledged by itself, and that is lost
	if len(w.way) != 1 || w.way[0].Number != 0 || w.endpoints[1].open != 1 {
		t.Fatalf("%+v", w.way)
	}
	w.way = nil
	for w.tick() {
		for len(w.way) > 0 {
			w.deliver(0)
			w.drop(0)
		}
	}
	if w.got["b"] != 1 || w.endpoints[1].open != 0 {
		t.Fatalf("b was read %d times", w.got["b"])
	}
}

// TestAcknowledgeAtOnce: who leaves says at once what has come, and then has nothing more to say.
func TestAcknowledgeAtOnce(t *testing.T) {
	w := newWorld()
	if _, _, err := w.endpoints[0].Send(w.now, peerOf(1), []byte("a"), SendOptions{Kind: 1}); err != nil {
		t.Fatal(err)
	}
	messages := w.endpoints[1].Acknowledge(w.now)
	if len(messages) != 0 || !w.endpoints[0].Awaits(1) || w.endpoints[0].Awaits(0) {
		t.Fatalf("%+v", messages)
	}
	w.endpoints[1].Receive(w.now, peerOf(0), Header{Stream: 11, Number: 1, Least: 1})
	if messages = w.endpoints[1].Acknowledge(w.now); len(messages) != 1 || messages[0].Number != 0 {
		t.Fatalf("%+v", messages)
	}
	w.endpoints[0].Receive(w.now, peerOf(1), messages[0].Header)
	if messages = w.endpoints[1].Acknowledge(w.now); len(messages) != 0 || w.endpoints[0].Awaits(1) {
		t.Fatalf("%+v", messages)
	}
}

// TestStreams: another run of a job has another stream, with numbers from 1 again; what
// comes late of the former one is not read.
func TestStreams(t *testing.T) {
	o := New(11)
	now := time.Unix(1000, 0)
	from := peerOf(1)
	take := func(stream, number uint64) bool { return o.Receive(now, from, Header{Stream: stream, Number: number}) }
	if !take(5, 1) || take(5, 1) || !take(6, 1) || take(5, 2) || !take(6, 2) || take(6, 1) {
		t.Fatal("streams are mixed")
	}
	if o.Receive(now, from, Header{Stream: 6, Least: 1 << 63, Number: 3}) {
		t.Fatal("what was given up is read")
	}
}

func TestFull(t *testing.T) {
	now := time.Unix(1000, 0)
	o := New(11)
	for range maxOpen {
		if _, _, err := o.Send(now, peerOf(1), nil, SendOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := o.Send(now, peerOf(1), nil, SendOptions{}); !errors.Is(err, ErrFull) {
		t.Fatal(err)
	}
	o = New(11)
	if _, _, err := o.Send(now, peerOf(1), make([]byte, MaxBytes), SendOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := o.Send(now, peerOf(2), make([]byte, 1), SendOptions{}); !errors.Is(err, ErrFull) {
		t.Fatal(err)
	}
	// A peer that sends numbers with gaps fills no memory.
	for i := range uint64(3 * maxOpen) {
		o.Receive(now, peerOf(3), Header{Stream: 1, Number: 2 + 2*i})
	}
	if n := len(o.peers[peerOf(3)].beyond); n != maxOpen {
		t.Fatalf("%d numbers are kept", n)
	}
}

// TestWindow: no more bytes are on their way than the window, or one message; the others wait in
// their order, are not sent again with the former, and count as lost after their time.
func TestWindow(t *testing.T) {
	w := newWorld()
	o := w.endpoints[0]
	o.window = 10
	for _, text := range []string{"123456", "1234", "larger than all", "x"} {
		if err := w.send(0, text); err != nil {
			t.Fatal(err)
		}
	}
	if len(w.way) != 2 || o.transit != 10 || o.waiting != 2 {
		t.Fatalf("%d messages are sent, %d bytes, %d wait", len(w.way), o.transit, o.waiting)
	}
	if again := o.ResendAll(w.now); len(again) != 2 || !again[0].Repeated {
		t.Errorf("sent again: %v", again)
	}
	// answer lets what is sent arrive, and the endpoint learn of it.
	answer := func() {
		for _, l := range w.way {
			w.endpoints[1].Receive(w.now, peerOf(0), l.Header)
		}
		w.way = nil
		for _, l := range w.endpoints[1].Acknowledge(w.now) {
			o.Receive(w.now, peerOf(1), l.Header)
		}
	}
	for _, want := range []string{"larger than all", "x"} {
		answer()
		if o.Deadline() != w.now {
			t.Errorf("the next is due at %v", o.Deadline())
		}
		messages, _ := o.Tick(w.now)
		if len(messages) != 1 || string(messages[0].Data) != want || messages[0].Repeated {
			t.Fatalf("next: %v, want %q", messages, want)
		}
		w.put(0, messages)
	}
	if err := w.send(0, "waits as long"); err != nil || o.waiting != 1 {
		t.Fatalf("%d wait: %v", o.waiting, err)
	}
	w.now = w.now.Add(Timeout)
	if messages, lost := o.Tick(w.now); len(messages) != 0 || len(lost) != 2 || o.transit != 0 || o.waiting != 0 {
		t.Errorf("sent %v, lost %v", messages, lost)
	}
}
