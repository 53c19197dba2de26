package flowctl

import "fmt"

// pair is a sender and a receiver with their caller, for tests.
type pair struct {
	t    failer
	c    Config
	s    Sender
	r    Receiver
	now  int64
	room uint32
	got  []Seq // frames accepted, in order
	from Seq   // number of the first frame
	away Tx    // newest transmission that an agent answered without the receiver
	lone bool  // the test makes up the receiver's answers
}

// failer is what a test is to a pair.
type failer interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// epoch is the instant at which tests begin, so that none is 0.
const epoch = int64(1e9)

func newPair(t failer, first Seq) *pair {
	p := &pair{t: t, c: DefaultConfig(), now: epoch, room: 1 << 20, from: first}
	p.s.Reset(first)
	p.r.Reset(first)
	return p
}

// send takes everything that may be sent.
func (p *pair) send() (frames []Data) {
	for range 1000 {
		b := p.s.Send(&p.c, p.now, 8)
		p.check()
		if b.Empty() {
			return frames
		}
		if b.Count > 8 {
			p.t.Fatalf("burst of %d frames, asked for 8", b.Count)
		}
		for i := range max(b.Count, 1) {
			d := b.Data(i)
			if b.Count == 0 {
				d.Mark |= askOnly
			}
			frames = append(frames, d)
		}
	}
	p.t.Fatal("the sender does not stop sending")
	return nil
}

// askOnly marks, in tests, a header without payload.
const askOnly Mark = 1 << 7

// deliver hands frames to the receiver.
func (p *pair) deliver(frames ...Data) (last Verdict) {
	for _, d := range frames {
		if d.Mark&askOnly != 0 {
			d.Mark &^= askOnly
			p.r.OnAsk(&p.c, p.now, d, p.room)
			p.check()
			continue
		}
		last = p.r.OnData(&p.c, p.now, d, p.room)
		if last == Accept {
			if want := p.from + Seq(len(p.got)); d.Seq != want {
				p.t.Fatalf("frame %d accepted, want %d", d.Seq, want)
			}
			p.got = append(p.got, d.Seq)
			p.room--
		}
		p.check()
	}
	return last
}

// answer returns the answer that is due, if one is.
func (p *pair) answer() (a Answer, due bool) {
	if !p.r.Due() {
		return Answer{}, false
	}
	a = p.r.Answer(&p.c, p.room)
	p.check()
	return a, true
}

// take hands answers to the sender.
func (p *pair) take(answers ...Answer) (released uint32) {
	for _, a := range answers {
		released += p.s.OnAnswer(&p.c, p.now, a)
		p.check()
	}
	return released
}

// tick advances to the earliest deadline and tells it.
func (p *pair) tick() {
	at := min(p.s.Deadline(), p.r.Deadline())
	if at == NoDeadline {
		p.t.Fatal("nobody waits for anything")
	}
	p.now = max(p.now, at)
	p.s.Tick(&p.c, p.now)
	p.r.Tick(&p.c, p.now)
	p.check()
}

// run exchanges over a perfect wire until nothing is left to do.
func (p *pair) run() {
	for range 10_000 {
		frames := p.send()
		p.deliver(frames...)
		a, due := p.answer()
		if due {
			p.take(a)
		}
		if due || len(frames) > 0 {
			continue
		}
		if p.s.Acked() == p.s.End() && p.r.Deadline() == NoDeadline {
			return
		}
		p.tick()
	}
	p.t.Fatalf("no end: %+v %+v", p.s.Status(), p.r.Status())
}

// check fails if what must always hold does not.
func (p *pair) check() {
	err := checkSender(&p.c, &p.s)
	if err == nil && !p.lone {
		err = checkPair(&p.s, &p.r, p.away)
	}
	if err != nil {
		p.t.Helper()
		p.t.Fatalf("%v\nsender %+v\nreceiver %+v", err, p.s, p.r)
	}
}

// checkSender returns what does not hold of a sender.
func checkSender(c *Config, s *Sender) error {
	switch {
	case after(s.una, s.nxt), after(s.nxt, s.max), after(s.max, s.end):
		return fmt.Errorf("sender: una %d, nxt %d, max %d, end %d are not in order", s.una, s.nxt, s.max, s.end)
	case after(s.echo, s.tx), after(s.back, s.tx), after(s.asked, s.tx):
		return fmt.Errorf("sender: echo %d, back %d or asked %d is after tx %d", s.echo, s.back, s.asked, s.tx)
	case s.Unacked() > uint32(c.MaxWindow):
		return fmt.Errorf("sender: %d frames in flight, bound is %d", s.nxt-s.una, c.MaxWindow)
	case s.window != 0 && (s.window < c.MinWindow || s.window > c.MaxWindow):
		return fmt.Errorf("sender: window is %d", s.window)
	case s.hold != Open && s.nxt != s.una:
		return fmt.Errorf("sender: %v with %d frames unanswered", s.hold, s.nxt-s.una)
	case s.hold != Open && s.deadline == 0 && !s.Failed():
		return fmt.Errorf("sender: %v without a deadline", s.hold)
	case s.una != s.nxt && s.deadline == 0 && !s.Failed():
		return fmt.Errorf("sender: frames unanswered without a deadline")
	}
	return nil
}

// checkPair returns what does not hold between a sender and its receiver.
func checkPair(s *Sender, r *Receiver, away Tx) error {
	switch {
	case after(s.una, r.next):
		return fmt.Errorf("frame %d released, and %d not accepted", s.una-1, r.next)
	case after(r.next, s.max):
		return fmt.Errorf("frame %d accepted, and %d not sent", r.next-1, s.max)
	case after(r.echo, s.tx), after(s.echo, r.echo) && s.echo != away:
		return fmt.Errorf("transmissions: answered %d, seen %d, sent %d are not in order", s.echo, r.echo, s.tx)
	case r.kind == Ack && r.owed != 0 && r.deadline == 0 && !r.Due():
		return fmt.Errorf("receiver: %d frames owed an answer without a deadline", r.owed)
	case r.kind != Ack && r.kind != Away && after(r.next, r.high):
		return fmt.Errorf("receiver: %v of %d, but only frames before %d were seen", r.kind, r.next, r.high)
	}
	return nil
}
