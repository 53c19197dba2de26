package flowctl

import "testing"

// TestIncast lets many senders that always have something to send overwhelm one receiver, which
// reads a message per microsecond, under both policies: what it costs beside what arrives. The
// figures are in docs/BENCHMARKS.md; they are the same at each run.
func TestIncast(t *testing.T) {
	for _, tt := range []struct {
		name    string
		senders int
		lines   uint32 // of a message
		policy  Policy
		goodput float64 // at least, of the reader's speed
		frames  float64 // sent for each message accepted, at most
		control float64 // asks and answers for each message accepted, at most
		refused int     // frames, at most
		flight  int     // frames under way at once, at most
		minRead int     // messages read of each sender, at least
	}{
		{"8, short, nack", 8, 1, AckNack{}, 0.99, 1, 0.3, 0, 2048, 2400},
		{"8, short, credits", 8, 1, Credits{Initial: 16, Chunk: 111}, 0.99, 1, 0.3, 0, 1016, 1900},
		{"8, longest, nack", 8, 16, AckNack{}, 0.99, 1, 0.4, 0, 400, 2400},
		{"8, longest, credits", 8, 16, Credits{Initial: 16, Chunk: 111}, 0.99, 1, 0.1, 0, 400, 1300},
		{"1000, short, nack", 1000, 1, AckNack{}, 0.99, 1.5, 1.1, 20000, 32000, 0},
		{"1000, short, credits", 1000, 1, Credits{Initial: 1, Chunk: 2}, 0.99, 1, 2.1, 0, 1023, 19},
		{"1000, longest, nack", 1000, 16, AckNack{}, 0.99, 2.5, 1.1, 40000, 32000, 0},
		{"1000, longest, credits", 1000, 16, Credits{Initial: 1, Chunk: 2}, 0.99, 1, 2.1, 0, 1023, 19},
	} {
		t.Run(tt.name, func(t *testing.T) {
			x := newIncast(tt.policy, tt.senders, tt.lines)
			for x.now < epoch+incastTime {
				x.step()
			}
			goodput := float64(x.read) / float64(incastTime/microsecond)
			accepted := float64(x.read + len(x.inbox))
			frames, control := float64(x.frames-x.flight)/accepted, float64(x.control)/accepted
			t.Logf("goodput %.3f; for each message %.3f frames, %.3f asks and answers; %d refused; "+
				"at once %d under way, %d lines; least %d, most %d of a sender", goodput, frames, control, x.refused, x.maxFlight, x.maxLines, x.fewest(), x.largest())
			switch {
			case goodput < tt.goodput:
				t.Errorf("goodput is %.3f, want at least %.3f", goodput, tt.goodput)
			case frames > tt.frames || control > tt.control || x.refused > tt.refused || x.maxFlight > tt.flight:
				t.Errorf("it costs more than %.3f frames, %.3f asks and answers, %d refused, %d under way", tt.frames, tt.control, tt.refused, tt.flight)
			case x.fewest() < tt.minRead:
				t.Errorf("%d messages of a sender were read, want at least %d", x.fewest(), tt.minRead)
			case x.maxLines > incastLines:
				t.Errorf("%d lines of %d are used", x.maxLines, incastLines)
			}
		})
	}
}

const (
	incastTime  = 20_000 * microsecond
	incastLines = 1 << 14 // of the receiver's lane: 1 MiB
	incastPlace = 16      // lines that a credit stands for
	incastTalks = 1000 * microsecond
)

// incast is a world of many senders and one receiver, step by step, that reckons room as package
// drive does.
type incast struct {
	c     Config
	now   int64
	lines uint32
	peers []incastPeer
	wire  []flying // in order of arrival: the delay is always the same

	used, reserved, talking uint32
	counted                 int64

	frames, control, refused, read int
	inbox                          []int // senders of the messages, oldest first
	flight                         int   // frames under way
	maxFlight                      int
	maxLines                       uint32
}

type incastPeer struct {
	s     Sender
	r     Receiver
	heard int64
	read  int
}

func newIncast(policy Policy, senders int, lines uint32) *incast {
	x := &incast{c: DefaultConfig(), now: epoch, lines: lines, peers: make([]incastPeer, senders)}
	x.c.Policy = policy
	for i := range x.peers {
		x.peers[i].heard = -incastTalks
		x.reserved += policy.Reserved(&x.c, &x.peers[i].r)
	}
	return x
}

// room is what package drive calls hint.
func (x *incast) room(p *incastPeer) uint32 {
	free := incastLines - 1 - x.used
	if _, ok := x.c.Policy.(Credits); !ok {
		return free / max(x.talking, 1) / x.lines
	}
	places := (free + 1 - min(incastPlace, free+1)) / incastPlace
	return x.c.RoomFor(&p.r, max(places, x.c.Policy.Promised(&x.c, &p.r)), x.reserved)
}

// exact is the room for a frame that has come.
func (x *incast) exact(p *incastPeer) uint32 {
	if x.used+x.lines >= incastLines {
		return 0
	}
	if _, ok := x.c.Policy.(Credits); ok {
		return x.room(p)
	}
	return max(x.room(p), 1)
}

// step is a microsecond.
func (x *incast) step() {
	x.now += microsecond
	for len(x.wire) > 0 && x.wire[0].at <= x.now {
		f := x.wire[0]
		x.wire = x.wire[1:]
		x.arrive(f)
	}
	x.readOne()
	x.offer()
	for i := range x.peers {
		x.drive(i)
	}
	x.maxFlight = max(x.maxFlight, x.flight)
	x.maxLines = max(x.maxLines, x.used)
}

func (x *incast) readOne() {
	if len(x.inbox) == 0 {
		return
	}
	x.peers[x.inbox[0]].read++
	x.inbox = x.inbox[1:]
	x.used -= x.lines
	x.read++
}

// offer tells those that wait when a quarter of the lane is free.
func (x *incast) offer() {
	if incastLines-x.used < incastLines/4 {
		return
	}
	for i := range x.peers {
		if p := &x.peers[i]; p.r.Waits(&x.c) {
			p.r.OnRoom(&x.c, x.now, x.room(p))
		}
	}
}

func (x *incast) put(f flying) {
	f.at = x.now + overloadDelay
	x.wire = append(x.wire, f)
}

// drive lets a pair act.
func (x *incast) drive(i int) {
	p := &x.peers[i]
	p.s.Tick(&x.c, x.now)
	p.r.Tick(&x.c, x.now)
	if p.s.Unsent() == 0 {
		p.s.Queue(64)
	}
	for p.s.Sendable(&x.c) {
		b := p.s.Send(&x.c, x.now, 16)
		if b.Empty() {
			break
		}
		for j := range max(b.Count, 1) {
			x.put(flying{who: i, ask: b.Count == 0, data: b.Data(j)})
		}
		x.frames, x.flight = x.frames+int(b.Count), x.flight+int(b.Count)
		if b.Count == 0 {
			x.control++
		}
	}
	if p.r.Due() {
		before := x.c.Policy.Reserved(&x.c, &p.r)
		a := p.r.Answer(&x.c, x.room(p))
		x.reserved += x.c.Policy.Reserved(&x.c, &p.r) - before
		x.put(flying{who: i, answer: true, reply: a})
		x.control++
	}
}

func (x *incast) arrive(f flying) {
	p := &x.peers[f.who]
	before := x.c.Policy.Reserved(&x.c, &p.r)
	switch {
	case f.answer:
		p.s.OnAnswer(&x.c, x.now, f.reply)
	case f.ask:
		x.receive(p)
		p.r.OnAsk(&x.c, x.now, f.data, x.room(p))
	default:
		x.receive(p)
		x.flight--
		switch p.r.OnData(&x.c, x.now, f.data, x.exact(p)) {
		case Accept:
			x.used += x.lines
			x.inbox = append(x.inbox, f.who)
		case Refuse, Duplicate:
			x.refused++
		}
	}
	x.reserved += x.c.Policy.Reserved(&x.c, &p.r) - before
}

// receive counts the sender among those that share the room.
func (x *incast) receive(p *incastPeer) {
	if x.now-p.heard > incastTalks {
		x.talking++
	}
	p.heard = x.now
	if x.now-x.counted < incastTalks {
		return
	}
	x.counted, x.talking = x.now, 0
	for i := range x.peers {
		if x.now-x.peers[i].heard <= incastTalks {
			x.talking++
		}
	}
}

func (x *incast) fewest() int {
	n := x.read
	for i := range x.peers {
		n = min(n, x.peers[i].read)
	}
	return n
}

func (x *incast) largest() (n int) {
	for i := range x.peers {
		n = max(n, x.peers[i].read)
	}
	return n
}
