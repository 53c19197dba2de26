package idle

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

const ms = int64(time.Millisecond)

// pair is a gang on two nodes that are both asleep, at the instant 0, and what they are asked.
func pair(t *testing.T) (*Gang, Question) {
	t.Helper()
	g := New([]string{"n1", "n2"})
	if q := g.OnCut("n1", Cut{Asleep: true, Epoch: 1}, 0); q != (Question{}) || g.State() != Awake {
		t.Fatalf("%v after %+v", g.State(), q)
	}
	q := g.OnCut("n2", Cut{Asleep: true, Epoch: 5}, 0)
	if q != (Question{Request: 1}) || g.State() != Doubtful {
		t.Fatalf("%v after %+v", g.State(), q)
	}
	return g, q
}

// idlePair has answered once more, at the instant 0.
func idlePair(t *testing.T) *Gang {
	t.Helper()
	g, q := pair(t)
	g.OnCut("n1", Cut{Asleep: true, Epoch: 1, Request: q.Request}, 0)
	if g.State() != Doubtful {
		t.Fatal(g.State())
	}
	g.OnCut("n2", Cut{Asleep: true, Epoch: 5, Request: q.Request}, 0)
	if g.State() != Idle || g.Since() != 0 || g.Deadline() != int64(FirstExamination) {
		t.Fatal(g.State(), g.Since(), g.Deadline())
	}
	return g
}

// examine lets the nodes look what could wake the gang.
func examine(t *testing.T, g *Gang, now int64, sources ...string) {
	t.Helper()
	q := g.Tick(now, true)
	if !q.Examine {
		t.Fatalf("at %d ms nothing is to be looked at: %+v", now/ms, q)
	}
	g.OnCut("n1", Cut{Asleep: true, Epoch: 1, Request: q.Request, Examined: true, WakeSource: sources[0]}, now)
	g.OnCut("n2", Cut{Asleep: true, Epoch: 5, Request: q.Request, Examined: true, WakeSource: sources[1]}, now)
}

func TestSecondCollection(t *testing.T) {
	for _, test := range []struct {
		name string
		say  func(g *Gang, q Question) Question
		want State
	}{
		{"woken in between", func(g *Gang, q Question) Question {
			return g.OnCut("n1", Cut{Epoch: 2, Request: q.Request}, 1)
		}, Awake},
		{"and asleep again", func(g *Gang, q Question) Question {
			return g.OnCut("n1", Cut{Asleep: true, Epoch: 3, Request: q.Request}, 1)
		}, Doubtful},
		{"unasked", func(g *Gang, q Question) Question {
			g.OnCut("n1", Cut{Asleep: true, Epoch: 1}, 1)
			return g.OnCut("n2", Cut{Asleep: true, Epoch: 5}, 1)
		}, Doubtful},
		{"answers to another question", func(g *Gang, q Question) Question {
			g.OnCut("n1", Cut{Asleep: true, Epoch: 1, Request: q.Request + 1}, 1)
			return g.OnCut("n2", Cut{Asleep: true, Epoch: 5, Request: q.Request}, 1)
		}, Doubtful},
		{"a node is lost", func(g *Gang, q Question) Question {
			g.OnNodeLost("n2")
			return g.OnCut("n1", Cut{Asleep: true, Epoch: 1, Request: q.Request}, 1)
		}, Awake},
		{"a node's ranks have ended", func(g *Gang, q Question) Question { return g.OnNodeEnded("n2", 1) }, Doubtful},
		{"somebody else's node", func(g *Gang, q Question) Question {
			g.OnNodeLost("n3")
			g.OnNodeEnded("n3", 1)
			return g.OnCut("n3", Cut{Epoch: 9}, 1)
		}, Doubtful},
	} {
		t.Run(test.name, func(t *testing.T) {
			g, q := pair(t)
			if again := test.say(g, q); g.State() != test.want || test.want == Awake && again != (Question{}) {
				t.Errorf("%v, asked %+v", g.State(), again)
			}
		})
	}
	g, q := pair(t)
	if again := g.Tick(int64(answerTime), true); again.Request == q.Request || again.Examine {
		t.Errorf("not asked again: %+v", again)
	}
}

func TestWakes(t *testing.T) {
	for name, wake := range map[string]func(g *Gang){
		"told":    func(g *Gang) { g.OnCut("n1", Cut{Epoch: 2}, 1) },
		"not met": func(g *Gang) { g.OnCut("n1", Cut{Asleep: true, Epoch: 3}, 1) },
		"lost":    func(g *Gang) { g.OnNodeLost("n1") },
		"ended":   func(g *Gang) { g.OnNodeEnded("n1", 1) },
	} {
		g := idlePair(t)
		if wake(g); g.State() >= Idle {
			t.Errorf("%s: %v", name, g.State())
		}
	}
}

func TestDeadlock(t *testing.T) {
	g := idlePair(t)
	now := int64(FirstExamination)
	examine(t, g, now, "", "reads a pipe")
	if g.State() != Idle || g.WakeSource() != "n2: reads a pipe" {
		t.Fatal(g.State(), g.WakeSource())
	}
	for range StuckExaminations {
		if g.State() != Idle {
			t.Fatalf("%v at %d ms", g.State(), now/ms)
		}
		now = g.Deadline()
		examine(t, g, now, "", "")
	}
	if g.State() != Deadlocked || g.Deadline() != 0 || g.WakeSource() != "" {
		t.Fatal(g.State(), g.Deadline(), g.WakeSource())
	}
	if g.OnCut("n2", Cut{Epoch: 6}, now); g.State() != Awake {
		t.Error("a signal does not wake it")
	}
}

// TestExaminationBackoff while something may wake the gang, and never stop.
func TestExaminationBackoff(t *testing.T) {
	g := idlePair(t)
	now := int64(FirstExamination)
	for _, want := range []time.Duration{1, 2, 4, 8, 16, 30, 30} {
		examine(t, g, now, "waits for a time", "")
		if pause := time.Duration(g.Deadline() - now); pause != want*time.Second {
			t.Fatalf("the next look is in %v, want %v s", pause, want)
		}
		now = g.Deadline()
	}
	if q := g.Tick(now, false); q != (Question{}) || g.WakeSource() == "" || g.State() != Idle {
		t.Errorf("a family: asked %+v, %v", q, g.WakeSource())
	}
}

// TestNeverIdleWhileBusy: nodes whose ranks send each other messages, looked at whenever chance
// will, are never called idle while a message is on its way or a rank has something to do; and they
// are in the end.
func TestNeverIdleWhileBusy(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		for range 1000 {
			w.step(t)
			if w.gang.State() >= Idle && !w.quiet() {
				t.Fatalf("%v: %+v, %d on their way", w.gang.State(), w.nodes, len(w.flying))
			}
		}
		for w.budget = 0; !w.quiet(); {
			w.work(t)
		}
		for range 3 {
			for name := range w.nodes {
				w.look(name)
			}
			w.deliver()
		}
		if w.gang.State() != Idle {
			t.Fatalf("%v in the end", w.gang.State())
		}
	})
}

// world is a gang with one rank on each node, and what the nodes have told.
type world struct {
	gang     *Gang
	names    []string
	nodes    map[string]*rank
	flying   []string // where to
	reported []report // on its way to the leader, in order for each node
	asked    map[string]uint64
	budget   int // messages that may still be sent
}

type rank struct {
	awake   bool
	owes    int    // messages that it has still to send
	unacked int    // messages that it sent and that have not arrived
	seen    uint64 // what the node has seen of happened
	happens uint64
	epoch   uint64
	asleep  bool
}

type report struct {
	node string
	cut  Cut
}

func newWorld(t *rapid.T) *world {
	w := &world{names: []string{"a", "b"}, nodes: map[string]*rank{}, asked: map[string]uint64{}, budget: 400}
	for _, n := range w.names {
		w.nodes[n] = &rank{awake: true}
	}
	w.nodes[w.names[0]].owes = rapid.IntRange(0, 2).Draw(t, "messages")
	w.gang = New(w.names)
	return w
}

func (w *world) quiet() bool {
	for _, r := range w.nodes {
		if r.awake || r.unacked > 0 {
			return false
		}
	}
	return len(w.flying) == 0
}

func (w *world) step(t *rapid.T) {
	w.deliver()
	if rapid.IntRange(0, 2).Draw(t, "what") == 0 {
		w.look(rapid.SampledFrom(w.names).Draw(t, "node"))
		return
	}
	w.work(t)
}

// work lets a message arrive, or a rank that is awake send one or fall asleep.
func (w *world) work(t *rapid.T) {
	if len(w.flying) > 0 && rapid.IntRange(0, 3).Draw(t, "arrives") > 0 {
		at := rapid.IntRange(0, len(w.flying)-1).Draw(t, "which")
		to := w.nodes[w.flying[at]]
		w.flying = append(w.flying[:at], w.flying[at+1:]...)
		to.awake = true
		to.owes++
		to.happens++
		for _, r := range w.nodes { // whoever sent it: all that matters is that somebody waits for it
			if r.unacked > 0 {
				r.unacked--
				break
			}
		}
		return
	}
	r := w.nodes[rapid.SampledFrom(w.names).Draw(t, "rank")]
	if !r.awake {
		return
	}
	r.happens++
	if r.owes > 0 && w.budget > 0 { // each message is answered by another, to anybody
		r.owes--
		w.budget--
		r.unacked++
		w.flying = append(w.flying, rapid.SampledFrom(w.names).Draw(t, "to"))
		return
	}
	r.awake = false
}

// look is what a node's agent does: it sees whether anything has happened, and answers.
func (w *world) look(name string) {
	r := w.nodes[name]
	was := r.asleep
	r.asleep = !r.awake && r.unacked == 0
	if r.happens != r.seen {
		r.seen = r.happens
		r.epoch++
	}
	if asked := w.asked[name]; asked != 0 || was != r.asleep {
		delete(w.asked, name)
		w.reported = append(w.reported, report{name, Cut{Asleep: r.asleep, Epoch: r.epoch, Request: asked}})
	}
}

func (w *world) deliverOne() {
	next := w.reported[0]
	w.reported = w.reported[1:]
	if q := w.gang.OnCut(next.node, next.cut, 0); q.Request != 0 {
		for _, n := range w.gang.Nodes() {
			w.asked[n] = q.Request
		}
	}
}

func (w *world) deliver() {
	for len(w.reported) > 0 {
		w.deliverOne()
	}
}
