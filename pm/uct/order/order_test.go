package order

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// pair is an origin and a target with the channel between them, which keeps order.
type pair struct {
	o        Origin
	t        Target
	requests []uint32
	refused  map[uint32]bool // by number, as the target decided
	failed   map[uint32]bool // as the origin heard
	run      Run             // the refusal that waits to be sent
	answers  []answer
	over     []uint32 // that the origin knows to be served, in order
	open     []uint32 // the others
}

// answer is an acknowledgement, or a refusal.
type answer struct {
	upTo   uint32
	refuse Run
}

// step has one of the ends do something.
func (p *pair) step(t *rapid.T) {
	switch rapid.IntRange(0, 4).Draw(t, "step") {
	case 0:
		n := p.o.Send()
		p.requests = append(p.requests, n)
		p.open = append(p.open, n)
	case 1:
		p.serve(t, rapid.Bool().Draw(t, "refuse"))
	case 2:
		p.sendRefusal()
	case 3:
		if upTo, due := p.t.Due(); due {
			p.t.Acked(upTo)
			p.answers = append(p.answers, answer{upTo: upTo})
		}
	case 4:
		p.onAnswer(t)
	}
}

func (p *pair) serve(t *rapid.T, refuse bool) {
	if len(p.requests) == 0 {
		return
	}
	n := p.t.Serve()
	if n != p.requests[0] {
		t.Fatalf("request %d is served as %d", p.requests[0], n)
	}
	p.requests = p.requests[1:]
	switch {
	case !refuse:
	case p.run.Precedes(n):
		p.run.Add(n)
	default:
		p.sendRefusal()
		p.run = RunOf(n)
		p.t.Refuse()
	}
	if refuse {
		p.refused[n] = true
	}
}

func (p *pair) sendRefusal() {
	if !p.run.some {
		return
	}
	p.answers = append(p.answers, answer{refuse: p.run})
	p.run = Run{}
	p.t.Refused()
}

// onAnswer has the origin take an answer.
func (p *pair) onAnswer(t *rapid.T) {
	if len(p.answers) == 0 {
		return
	}
	a := p.answers[0]
	p.answers = p.answers[1:]
	if a.refuse.some {
		for _, n := range p.open {
			one := RunOf(n)
			if one.Meets(a.refuse.First, a.refuse.Last) {
				p.failed[n] = true
			}
		}
		return
	}
	if !p.o.OnAck(a.upTo) {
		t.Fatalf("an honest target acknowledges %d, of %+v", a.upTo, p.o)
	}
	for len(p.open) > 0 && p.o.Served(p.open[0]) {
		p.over = append(p.over, p.open[0])
		p.open = p.open[1:]
	}
}

// TestEachRequestOnce: each request is reported once, in order, and as refused if it was, also
// where the numbers wrap.
func TestEachRequestOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		first := rapid.SampledFrom([]uint32{0, 1<<31 - 5, ^uint32(0) - 7}).Draw(t, "first")
		p := &pair{o: Origin{first, first}, t: Target{served: first, reported: first}, refused: map[uint32]bool{}, failed: map[uint32]bool{}}
		for range rapid.IntRange(0, 200).Draw(t, "steps") {
			p.step(t)
			for _, n := range p.over {
				if p.failed[n] != p.refused[n] {
					t.Fatalf("request %d was refused %v, and is told of as %v", n, p.refused[n], p.failed[n])
				}
			}
		}
		for range 1000 {
			p.serve(t, false)
			p.sendRefusal()
			if upTo, due := p.t.Due(); due {
				p.t.Acked(upTo)
				p.answers = append(p.answers, answer{upTo: upTo})
			}
			p.onAnswer(t)
		}
		if len(p.open) > 0 || p.t.Owes() {
			t.Fatalf("left: %v, %+v", p.open, p.t)
		}
		for i := range p.over {
			if p.over[i] != first+uint32(i)+1 {
				t.Fatalf("out of order: %v", p.over)
			}
		}
		if !slices.IsSortedFunc(p.over, func(a, b uint32) int { return int(int32(a - b)) }) {
			t.Fatalf("out of order: %v", p.over)
		}
	})
}

// TestForgedAcks: no acknowledgement of what was not sent, or of less than before.
func TestForgedAcks(t *testing.T) {
	for _, first := range []uint32{0, 1 << 31, ^uint32(0) - 1} {
		o := Origin{first, first}
		for range 4 {
			o.Send()
		}
		if !o.OnAck(first + 2) {
			t.Error("refused an honest one")
		}
		for _, upTo := range []uint32{first + 5, first + 1, first, first + 1<<31, first - 1} {
			if o.OnAck(upTo) {
				t.Errorf("from %d on: took an acknowledgement of %d", first, upTo-first)
			}
		}
		if !o.Served(first+2) || o.Served(first+3) {
			t.Error("a lie has an effect")
		}
	}
}

// TestNoAckBeforeRefusals: an acknowledgement waits until all refusals were sent.
func TestNoAckBeforeRefusals(t *testing.T) {
	var target Target
	target.Serve()
	target.Refuse()
	target.Serve()
	target.Refuse()
	for range 2 {
		if _, due := target.Due(); due {
			t.Error("it overtakes a refusal")
		}
		target.Refused()
	}
	if upTo, due := target.Due(); !due || upTo != 2 {
		t.Errorf("acknowledges %d: %v", upTo, due)
	}
	target.Acked(2)
	if _, due := target.Due(); due || target.Owes() {
		t.Error("it acknowledges twice")
	}
}

// TestRun: the zero Run has no requests.
func TestRun(t *testing.T) {
	var r Run
	if r.Meets(0, ^uint32(0)>>1) || r.Precedes(1) {
		t.Error("no requests")
	}
	r.Add(^uint32(0))
	r.Add(0)
	if !r.Precedes(1) || !r.Meets(0, 5) || !r.Meets(^uint32(0)-3, ^uint32(0)) || r.Meets(1, 2) || r.Meets(^uint32(0)-3, ^uint32(0)-1) {
		t.Errorf("%+v", r)
	}
}
