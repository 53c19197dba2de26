package flowctl

import (
	"testing"
	"time"
)

func TestMeasure(t *testing.T) {
	c := DefaultConfig()
	var s Sender
	if got := s.rto(&c); got != int64(DefaultFirstRTO) {
		t.Errorf("nothing measured: wait is %v", time.Duration(got))
	}
	for range 100 {
		s.measure(50_000)
	}
	if got := s.rto(&c); got != int64(DefaultRTOFloor) {
		t.Errorf("round trips of 50us: wait is %v, want the floor", time.Duration(got))
	}
	for range 100 {
		s.measure(int64(20 * time.Millisecond))
	}
	if got := time.Duration(s.rto(&c)); got < 19*time.Millisecond || got > 30*time.Millisecond {
		t.Errorf("round trips of 20ms: wait is %v", got)
	}
	for range 100 {
		s.measure(int64(time.Hour))
	}
	if got := s.rto(&c); got != int64(DefaultRTOMax) {
		t.Errorf("round trips of an hour: wait is %v, want the longest", time.Duration(got))
	}
	for range 100 {
		s.measure(-1)
	}
	if s.srtt == 0 {
		t.Error("round trips of nothing count as not measured")
	}
}

// TestWindow: a refusal halves it, a gap takes a quarter, and acknowledged frames
// bring it back.
func TestWindow(t *testing.T) {
	p := newPair(t, 0)
	p.lone = true
	p.s.Queue(1 << 16)
	p.send()
	p.take(Answer{Kind: Full, Next: 0, Echo: p.s.tx})
	if p.s.window != DefaultWindow/2 {
		t.Errorf("window after a refusal is %d", p.s.window)
	}
	p.take(Answer{Kind: Ready, Room: windowAll, Next: 0, Echo: p.s.tx})
	p.send()
	p.take(Answer{Kind: Gap, Room: windowAll, Next: 0, Echo: p.s.tx})
	if p.s.window != DefaultWindow*3/8 {
		t.Errorf("window after a gap then is %d", p.s.window)
	}
	for range 40 {
		p.send()
		p.take(Answer{Room: windowAll, Next: p.s.nxt, Echo: p.s.tx})
	}
	if p.s.window != DefaultMaxWindow {
		t.Errorf("window after forty full ones is %d, want %d", p.s.window, DefaultMaxWindow)
	}
	for range 40 {
		p.send()
		p.take(Answer{Kind: Full, Next: p.s.una, Echo: p.s.tx})
		p.take(Answer{Kind: Ready, Room: windowAll, Next: p.s.una, Echo: p.s.tx})
	}
	if p.s.window != DefaultMinWindow {
		t.Errorf("window after forty refusals is %d, want %d", p.s.window, DefaultMinWindow)
	}
}

// TestHint: the announced room keeps a sender from running into a refusal, but one frame may always
// try.
func TestHint(t *testing.T) {
	for _, tt := range []struct {
		room uint16
		want int
	}{{0, 1}, {1, 1}, {3, 3}, {20, 20}, {windowAll, DefaultWindow}} {
		p := newPair(t, 1<<32-1)
		p.lone = true
		p.s.Queue(2)
		p.send()
		p.s.Queue(1000)
		p.take(Answer{Room: tt.room, Next: p.s.nxt, Echo: p.s.tx})
		if got := len(p.send()); got != tt.want {
			t.Errorf("room for %d told: %d frames sent, want %d", tt.room, got, tt.want)
		}
	}
}

// TestRoomFor: what others were promised is not given away, and what this one was
// promised is there whatever others own.
func TestRoomFor(t *testing.T) {
	c := DefaultConfig()
	c.Policy = Credits{Initial: 4, Chunk: 8}
	for _, tt := range []struct {
		name           string
		promised       Seq
		free, reserved uint32
		want           uint32
	}{
		{"all free, two senders", 4, 20, 8, 16},
		{"own promise only", 2, 4, 8, 2},
		{"nothing free", 4, 0, 8, 0},
		{"promise larger than what is left", 10, 12, 22, 10},
		{"a state that promises too much", 1 << 30, 5, 1 << 30, 5},
		{"none promised, others own the rest", 0, 8, 12, 0},
	} {
		var r Receiver
		r.gave = tt.promised - 4
		if got := c.RoomFor(&r, tt.free, tt.reserved); got != tt.want {
			t.Errorf("%s: room is %d, want %d", tt.name, got, tt.want)
		}
	}
	c.Policy = AckNack{}
	if got := c.RoomFor(&Receiver{}, 7, 0); got != 7 {
		t.Errorf("ack/nack: room is %d, want all that is free", got)
	}
}

// TestCreditsAreNeverTakenBack: an older answer that comes late tells of less.
func TestCreditsAreNeverTakenBack(t *testing.T) {
	p := newPair(t, 0)
	p.lone = true
	p.c.Policy = Credits{Initial: 2, Chunk: 4}
	p.s.Queue(100)
	if got := len(p.send()); got != 2 {
		t.Fatalf("%d frames sent on 2 credits", got)
	}
	p.take(Answer{Room: 6, Next: 2, Echo: 2}, Answer{Room: 1, Next: 2, Echo: 2})
	if got := len(p.send()); got != 6 {
		t.Errorf("%d frames sent, 6 credits were given", got)
	}
}

// TestReadyIsNotSentForever: Ready is not sent for ever to a sender that died.
func TestReadyIsNotSentForever(t *testing.T) {
	p := newPair(t, 0)
	p.s.Queue(1)
	p.room = 0
	p.deliver(p.send()...)
	p.answer()
	p.r.OnRoom(&p.c, p.now, 1)
	told := 0
	for p.r.Deadline() != NoDeadline {
		if _, due := p.answer(); due {
			told++
		}
		p.now = p.r.Deadline()
		p.r.Tick(&p.c, p.now)
	}
	if _, due := p.answer(); due {
		told++
	}
	if told != 1+readyResends {
		t.Errorf("told %d times, want %d", told, 1+readyResends)
	}
	if passed := time.Duration(p.now - epoch); passed > time.Second {
		t.Errorf("told for %v", passed)
	}
}

func TestNames(t *testing.T) {
	for _, tt := range []struct{ got, want string }{
		{Ack.String(), "ack"},
		{Ready.String(), "ready"},
		{Kind(99).String(), "unknown"},
		{Open.String(), "open"},
		{HeldDry.String(), "held (dry)"},
		{Hold(99).String(), "unknown"},
		{Accept.String(), "accept"},
		{Refuse.String(), "refuse"},
		{Verdict(99).String(), "unknown"},
	} {
		if tt.got != tt.want {
			t.Errorf("name is %q, want %q", tt.got, tt.want)
		}
	}
}
