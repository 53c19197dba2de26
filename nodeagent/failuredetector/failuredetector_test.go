package failuredetector

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

var epoch = time.Unix(1000, 0)

// world is a machine, its neighbours and virtual time.
type world struct {
	m   *Machine
	now time.Time
	// how a neighbour answers probes, after what time.
	how   map[string]How
	after time.Duration
	// words are what the leader was told, newest last.
	words []Effect
	due   []answer
}

type answer struct {
	at time.Time
	Effect
}

func newWorld(peers ...string) *world {
	w := &world{m: New(), now: epoch, how: make(map[string]How), after: time.Millisecond}
	w.watch(peers...)
	return w
}

func (w *world) watch(peers ...string) {
	var list []Peer
	for _, name := range peers {
		list = append(list, Peer{Name: name, Address: name + ":1"})
	}
	w.m.Watch(w.now, list)
}

func (w *world) take(effects []Effect) {
	for _, e := range effects {
		if e.Probe == 0 {
			w.words = append(w.words, e)
			continue
		}
		w.due = append(w.due, answer{w.now.Add(w.after), Effect{Peer: e.Peer, Probe: e.Probe, How: w.how[e.Peer.Name]}})
	}
}

// pass lets time pass, by milliseconds.
func (w *world) pass(d time.Duration) {
	for end := w.now.Add(d); w.now.Before(end); w.now = w.now.Add(time.Millisecond) {
		for len(w.due) > 0 && !w.due[0].at.After(w.now) {
			a := w.due[0]
			w.due = w.due[1:]
			if a.How == Fine {
				w.take(w.m.Answered(w.now, a.Peer.Name, a.Probe))
				continue
			}
			w.take(w.m.Failed(w.now, a.Peer.Name, a.Probe, a.How))
		}
		if !w.now.Before(w.m.Deadline(w.now)) || w.m.ticked.IsZero() || w.now.Sub(w.m.ticked) >= ProbeEvery {
			w.take(w.m.Tick(w.now))
		}
	}
}

func TestLossIsSuspectedInTime(t *testing.T) {
	for shift := range 10 {
		w := newWorld("n2", "n3")
		w.after = time.Duration(shift) * 20 * time.Millisecond
		w.pass(5*time.Second + time.Duration(shift)*70*time.Millisecond)
		w.how["n2"] = Unreachable
		w.after = 500 * time.Millisecond // what it takes to find that nobody answers
		w.pass(1500 * time.Millisecond)
		if len(w.words) != 0 {
			t.Fatalf("shift %d: suspected within 1.5 s: %v", shift, w.words)
		}
		w.pass(time.Second + 100*time.Millisecond)
		if len(w.words) != 1 || w.words[0].Peer.Name != "n2" || w.words[0].How != Unreachable {
			t.Fatalf("shift %d: after 2.6 s: %v", shift, w.words)
		}
		if s := w.m.Suspects(); len(s) != 1 || s[0] != w.words[0] {
			t.Errorf("suspects %v", s)
		}
		w.how["n2"], w.after = Fine, time.Millisecond
		w.pass(time.Second)
		if len(w.words) != 2 || w.words[1].How != Fine || len(w.m.Suspects()) != 0 {
			t.Errorf("shift %d: when it is back: %v", shift, w.words)
		}
	}
}

// An agent that stands still for a second and a half, or is slow, is no loss.
func TestNoFalseAlarm(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld("n2")
		for range rapid.IntRange(1, 10).Draw(t, "stops") {
			w.after = time.Duration(rapid.IntRange(0, 900).Draw(t, "slow, ms")) * time.Millisecond
			w.pass(time.Duration(rapid.IntRange(1000, 3000).Draw(t, "fine, ms")) * time.Millisecond)
			w.how["n2"] = Hung
			w.pass(time.Duration(rapid.IntRange(0, 600).Draw(t, "stopped, ms")) * time.Millisecond)
			w.how["n2"] = Fine
		}
		w.pass(3 * time.Second)
		if len(w.words) != 0 {
			t.Fatalf("suspected: %v", w.words)
		}
	})
}

// A watcher that stood still itself has no right to suspect others.
func TestWatcherStoodStill(t *testing.T) {
	w := newWorld("n2", "n3")
	w.pass(2 * time.Second)
	w.now = w.now.Add(10 * time.Second) // nothing was heard or sent
	w.how["n2"] = Hung                  // its connection has to be made again
	w.pass(600 * time.Millisecond)
	w.how["n2"] = Fine
	w.pass(time.Second)
	if len(w.words) != 0 {
		t.Errorf("suspected: %v", w.words)
	}
}

// Whom it watches changes; what it knows of who stays is kept, and late words on
// who has gone are nothing.
func TestNeighboursChange(t *testing.T) {
	w := newWorld("n2", "n3")
	w.how["n2"], w.how["n3"] = Refused, Unreachable
	w.pass(3 * time.Second)
	if len(w.words) != 2 {
		t.Fatalf("%v", w.words)
	}
	w.watch("n3", "n4")
	w.pass(3 * time.Second)
	if s := w.m.Suspects(); len(w.words) != 2 || len(s) != 1 || s[0].Peer.Name != "n3" {
		t.Errorf("words %v, suspects %v", w.words, s)
	}
	if e := w.m.Failed(w.now, "n2", 1, Unreachable); len(e) != 0 {
		t.Errorf("of a former neighbour: %v", e)
	}
	if e := w.m.Answered(w.now, "n4", 1<<40); len(e) != 0 {
		t.Errorf("of a probe that was never sent: %v", e)
	}
}

// How it does not answer may change: a host goes down after its agent.
func TestWordsChange(t *testing.T) {
	w := newWorld("n2")
	w.how["n2"] = Refused
	w.pass(3 * time.Second)
	w.how["n2"] = Unreachable
	w.pass(time.Second)
	if len(w.words) != 2 || w.words[0].How != Refused || w.words[1].How != Unreachable {
		t.Errorf("%v", w.words)
	}
}

// TestPeerMissedByOthers: a peer that others miss is probed at once, and suspected as one that was
// silent for so long; one that answers is not.
func TestPeerMissedByOthers(t *testing.T) {
	w := newWorld("n2", "n3")
	w.pass(5*time.Second + 100*time.Millisecond)
	w.how["n2"] = Unreachable
	for _, name := range []string{"n2", "n3", "nobody"} {
		w.m.Missed(w.now, name)
	}
	w.take(w.m.Tick(w.now))
	w.pass(SuspectAfter - linkTolerance - 10*time.Millisecond)
	if len(w.words) != 0 {
		t.Fatalf("reported %v too early", w.words)
	}
	w.pass(20*time.Millisecond + ProbeEvery)
	if len(w.words) != 1 || w.words[0].Peer.Name != "n2" || w.words[0].How != Unreachable {
		t.Fatalf("reported %v", w.words)
	}
}
