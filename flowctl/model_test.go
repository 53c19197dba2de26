package flowctl

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// model is a pair whose wire loses, doubles and reorders as rapid likes.
type model struct {
	*pair
	frames  []Data
	answers []Answer
	inbox   uint32 // places
	held    uint32
	away    bool
	flushes bool
}

// TestModel runs a pair through anything that may happen, with the invariants
// checked after every step, then heals the wire: everything must arrive.
func TestModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newModel(t)
		t.Repeat(map[string]func(*rapid.T){
			"queue":   func(t *rapid.T) { m.s.Queue(rapid.Uint32Range(1, 5).Draw(t, "n")) },
			"send":    m.transmit,
			"arrive":  m.arrive,
			"reply":   func(*rapid.T) { m.reply() },
			"take":    m.takeAny,
			"lose":    m.lose,
			"copy":    m.double,
			"read":    func(*rapid.T) { m.read() },
			"tick":    m.tickAny,
			"flush":   func(*rapid.T) { m.s.Flush(&m.c, m.now); m.flushes = true },
			"suspend": func(*rapid.T) { m.s.Suspend(m.now); m.flushes = true },
			"resume":  func(*rapid.T) { m.resume() },
			"leave":   func(*rapid.T) { m.r.Flush(); m.r.Suspend(m.now); m.away = true },
			"return":  func(*rapid.T) { m.r.Resume(&m.c, m.now, m.space()); m.away = false },
			"":        func(*rapid.T) { m.check() },
		})
		m.heal()
	})
}

func newModel(t *rapid.T) *model {
	first := rapid.SampledFrom([]uint32{0, 1<<32 - 3, 1<<31 - 2}).Draw(t, "first")
	m := &model{pair: newPair(nil, Seq(first)), inbox: rapid.Uint32Range(2, 12).Draw(t, "inbox")}
	m.t = fatal{t}
	m.c.InitialWindow = rapid.SampledFrom([]uint16{2, 4, 32}).Draw(t, "window")
	m.c.AckEvery = rapid.SampledFrom([]uint16{1, 3, 16}).Draw(t, "ackEvery")
	if rapid.Bool().Draw(t, "credits") {
		m.c.Policy = Credits{Initial: 2, Chunk: 3}
	}
	return m
}

func (m *model) space() uint32 { return m.inbox - m.held }

func (m *model) transmit(t *rapid.T) {
	b := m.s.Send(&m.c, m.now, rapid.Uint32Range(0, 8).Draw(t, "limit"))
	for i := range max(b.Count, 1) {
		d := b.Data(i)
		if b.Empty() {
			return
		}
		if b.Count == 0 {
			d.Mark |= askOnly
		}
		m.frames = append(m.frames, d)
	}
	if m.flushes && b.Count > 0 {
		m.t.Fatalf("a flushing sender sent %d frames", b.Count)
	}
}

// pick draws an index, and skips the action if there is none.
func pick(t *rapid.T, n int) int {
	if n == 0 {
		t.Skip("nothing under way")
	}
	return rapid.IntRange(0, n-1).Draw(t, "which")
}

func (m *model) arrive(t *rapid.T) {
	i := pick(t, len(m.frames))
	d := m.frames[i]
	m.frames = slices.Delete(m.frames, i, i+1)
	m.accept(d)
}

// accept hands a frame to the receiver.
func (m *model) accept(d Data) {
	m.room = m.space()
	had := len(m.got)
	m.deliver(d)
	if len(m.got) == had {
		return
	}
	m.held++
	if m.held > m.inbox || m.away {
		m.t.Fatalf("accepted frame %d with %d of %d places taken, away %v", d.Seq, m.held, m.inbox, m.away)
	}
}

func (m *model) reply() {
	m.room = m.space()
	if a, due := m.answer(); due {
		m.answers = append(m.answers, a)
	}
}

func (m *model) takeAny(t *rapid.T) {
	i := pick(t, len(m.answers))
	a := m.answers[i]
	m.answers = slices.Delete(m.answers, i, i+1)
	before := m.s.Acked()
	if released := m.take(a); released != distance(before, m.s.Acked()) {
		m.t.Fatalf("released %d, and went from %d to %d", released, before, m.s.Acked())
	}
}

func (m *model) lose(t *rapid.T) {
	i := pick(t, len(m.frames)+len(m.answers))
	if i < len(m.frames) {
		m.frames = slices.Delete(m.frames, i, i+1)
		return
	}
	i -= len(m.frames)
	m.answers = slices.Delete(m.answers, i, i+1)
}

func (m *model) double(t *rapid.T) {
	i := pick(t, len(m.frames)+len(m.answers))
	if i < len(m.frames) {
		m.frames = append(m.frames, m.frames[i])
		return
	}
	m.answers = append(m.answers, m.answers[i-len(m.frames)])
}

func (m *model) read() {
	if m.held == 0 {
		return
	}
	m.held--
	if m.r.Waits(&m.c) {
		m.r.OnRoom(&m.c, m.now, m.space())
	}
}

func (m *model) tickAny(t *rapid.T) {
	m.now += rapid.Int64Range(0, 3e6).Draw(t, "ns")
	m.s.Tick(&m.c, m.now)
	m.r.Tick(&m.c, m.now)
}

func (m *model) resume() {
	m.s.Resume(&m.c, m.now)
	m.flushes = false
}

// heal lets everything come to its end over a perfect wire.
func (m *model) heal() {
	m.resume()
	m.r.Resume(&m.c, m.now, m.space())
	m.away = false
	if m.s.Failed() {
		return // silent for ten seconds of the model's time
	}
	m.frames, m.answers = nil, nil
	for range 10_000 {
		for m.held > 0 {
			m.read()
		}
		sent := m.send()
		for _, d := range sent {
			m.accept(d)
		}
		m.room = m.space()
		a, due := m.answer()
		if due {
			m.take(a)
		}
		if m.s.Acked() == m.s.End() && m.r.next == m.s.end {
			return
		}
		if len(sent) == 0 && !due && m.held == 0 {
			m.tick()
		}
	}
	m.t.Fatalf("no end: sender %+v receiver %+v", m.s, m.r)
}

// fatal lets a pair fail a rapid check.
type fatal struct{ t *rapid.T }

func (f fatal) Helper()                           {}
func (f fatal) Fatal(args ...any)                 { f.t.Fatal(args...) }
func (f fatal) Fatalf(format string, args ...any) { f.t.Fatalf(format, args...) }
