package flowctl

import "testing"

// TestOverload lets eight senders that always have something to send overwhelm a
// receiver that reads a frame per microsecond. It must hardly ever find its inbox
// empty, and few frames may be sent in vain.
func TestOverload(t *testing.T) {
	for _, tt := range []struct {
		name   string
		policy Policy
		inbox  uint32
		share  bool // hints divide the room among the senders
		refuse float64
	}{
		{"ack/nack", AckNack{}, 1024, true, 0.05},
		{"ack/nack, small inbox", AckNack{}, 64, true, 0.05},
		{"ack/nack, hints of the whole room", AckNack{}, 1024, false, 0.05},
		{"credits", Credits{Initial: 16, Chunk: 32}, 1024, false, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := newOverload(tt.policy, tt.inbox, tt.share)
			for o.now < epoch+200_000*microsecond {
				o.step()
			}
			sent, read := float64(o.sent), float64(o.read)
			goodput, refused := read/200_000, float64(o.refused)/sent
			t.Logf("goodput %.3f of the reader's speed, %.2f %% of %d frames refused", goodput, 100*refused, o.sent)
			if goodput < 0.9 {
				t.Errorf("goodput is %.3f of the reader's speed, want 0.9 or more", goodput)
			}
			if refused > tt.refuse {
				t.Errorf("%.2f %% of the frames were refused, want at most %.2f %%", 100*refused, 100*tt.refuse)
			}
		})
	}
}

const (
	microsecond     = int64(1000)
	overloadSenders = 8
	overloadDelay   = 10 * microsecond // one way
)

// overload is a step-by-step world without faults.
type overload struct {
	c        Config
	inbox    uint32
	share    bool
	now      int64
	s        [overloadSenders]Sender
	r        [overloadSenders]Receiver
	wire     []flying // in order of arrival: the delay is always the same
	held     uint32
	reserved uint32

	sent, refused, read int
}

// flying is a frame or an answer under way.
type flying struct {
	at     int64
	who    int
	answer bool
	ask    bool
	data   Data
	reply  Answer
}

func newOverload(policy Policy, inbox uint32, share bool) *overload {
	o := &overload{c: DefaultConfig(), inbox: inbox, share: share, now: epoch}
	o.c.Policy = policy
	for i := range o.r {
		o.reserved += policy.Reserved(&o.c, &o.r[i])
	}
	return o
}

func (o *overload) room(i int) uint32 {
	room := o.c.RoomFor(&o.r[i], o.inbox-o.held, o.reserved)
	if o.share && room > 0 {
		return room/overloadSenders + 1
	}
	return room
}

// step is a microsecond.
func (o *overload) step() {
	o.now += microsecond
	for len(o.wire) > 0 && o.wire[0].at <= o.now {
		f := o.wire[0]
		o.wire = o.wire[1:]
		o.arrive(f)
	}
	if o.held > 0 {
		o.held--
		o.read++
		if o.held <= o.inbox/2 {
			for i := range o.r {
				if o.r[i].Waits(&o.c) {
					o.r[i].OnRoom(&o.c, o.now, o.room(i))
				}
			}
		}
	}
	for i := range o.s {
		o.drive(i)
	}
}

// drive lets a pair act.
func (o *overload) drive(i int) {
	s, r := &o.s[i], &o.r[i]
	s.Tick(&o.c, o.now)
	r.Tick(&o.c, o.now)
	if s.Unsent() == 0 {
		s.Queue(64)
	}
	for b := s.Send(&o.c, o.now, 16); !b.Empty(); b = s.Send(&o.c, o.now, 16) {
		o.sent += int(b.Count)
		for j := range max(b.Count, 1) {
			o.wire = append(o.wire, flying{at: o.now + overloadDelay, who: i, ask: b.Count == 0, data: b.Data(j)})
		}
	}
	if r.Due() {
		before := o.c.Policy.Reserved(&o.c, r)
		a := r.Answer(&o.c, o.room(i))
		o.reserved += o.c.Policy.Reserved(&o.c, r) - before
		o.wire = append(o.wire, flying{at: o.now + overloadDelay, who: i, answer: true, reply: a})
	}
}

func (o *overload) arrive(f flying) {
	s, r := &o.s[f.who], &o.r[f.who]
	before := o.c.Policy.Reserved(&o.c, r)
	switch {
	case f.answer:
		s.OnAnswer(&o.c, o.now, f.reply)
	case f.ask:
		r.OnAsk(&o.c, o.now, f.data, o.room(f.who))
	default:
		switch r.OnData(&o.c, o.now, f.data, o.room(f.who)) {
		case Accept:
			o.held++
		case Refuse, Duplicate:
			o.refused++
		}
	}
	o.reserved += o.c.Policy.Reserved(&o.c, r) - before
}

// TestNoAllocation: the machines run in the middle of every message.
func TestNoAllocation(t *testing.T) {
	for _, policy := range []Policy{AckNack{}, Credits{Initial: 4, Chunk: 8}} {
		c := DefaultConfig()
		c.Policy = policy
		var s Sender
		var r Receiver
		now := epoch
		n := testing.AllocsPerRun(100, func() {
			now += 1000
			s.Queue(4)
			for b := s.Send(&c, now, 4); !b.Empty(); b = s.Send(&c, now, 4) {
				for i := range b.Count {
					r.OnData(&c, now, b.Data(i), 100)
				}
			}
			s.OnAnswer(&c, now, r.Answer(&c, 100))
			s.Tick(&c, now)
			r.Tick(&c, now)
		})
		if n != 0 {
			t.Errorf("%T: %v allocations per turn", policy, n)
		}
	}
}
