package quiescence

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// at is a sample of two ranks that sleep, in a job that is on all the time.
func at(ms int) Sample {
	return Sample{Now: int64(ms) * int64(time.Millisecond), On: time.Duration(ms) * time.Millisecond, Ranks: 2, Asleep: 2, Mark: 7}
}

func TestObserve(t *testing.T) {
	change := func(ms int, change func(*Sample)) Sample {
		s := at(ms)
		change(&s)
		return s
	}
	for _, test := range []struct {
		name   string
		then   Sample
		asleep bool
	}{
		{"goes on", at(400), true},
		{"looks around", change(400, func(s *Sample) { s.CPU = 3 * PollTime }), true},
		{"computes", change(310, func(s *Sample) { s.CPU = 3*PollTime + 1 }), false},
		{"a rank wakes", change(400, func(s *Sample) { s.Asleep = 1 }), false},
		{"it waits again", change(400, func(s *Sample) { s.Mark = 8 }), false},
		{"something is on its way", change(400, func(s *Sample) { s.Pending = 1 }), false},
		{"a rank ended", change(400, func(s *Sample) { s.Ranks, s.Asleep = 1, 1 }), false},
		{"all ended", change(400, func(s *Sample) { s.Ranks, s.Asleep = 0, 0 }), false},
	} {
		t.Run(test.name, func(t *testing.T) {
			var w Watch
			for ms := 0; ms < 200; ms += 50 {
				if w.Update(at(ms)) || w.Asleep() {
					t.Fatalf("asleep after %d ms", ms)
				}
			}
			if !w.Update(at(200)) || !w.Asleep() {
				t.Fatal("never asleep")
			}
			epoch := w.Epoch()
			if w.Update(at(300)) {
				t.Fatal("told twice")
			}
			if w.Update(test.then) == test.asleep || w.Asleep() != test.asleep || (w.Epoch() == epoch) != test.asleep {
				t.Errorf("asleep %v, epoch %d after %d", w.Asleep(), w.Epoch(), epoch)
			}
		})
	}
}

// A rank of a sleeping job that seems awake is doubtful for some time, unless something has
// happened.
func TestDoubts(t *testing.T) {
	awake := func(ms int, change func(*Sample)) *Sample {
		s := at(ms)
		s.Asleep = 1
		change(&s)
		return &s
	}
	for _, test := range []struct {
		name   string
		change func(*Sample)
		doubts bool
	}{
		{"it polls", func(*Sample) {}, true},
		{"all of them", func(s *Sample) { s.Asleep = 0 }, true},
		{"none", func(s *Sample) { s.Asleep = 2 }, false},
		{"something is on its way", func(s *Sample) { s.Pending = 1 }, false},
		{"it has sent", func(s *Sample) { s.Mark = 8 }, false},
		{"it computes", func(s *Sample) { s.CPU = 3*PollTime + 1 }, false},
		{"a rank ended", func(s *Sample) { s.Ranks = 1; s.Asleep = 0 }, false},
		{"all ended", func(s *Sample) { s.Ranks, s.Asleep = 0, 0 }, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			var w Watch
			if w.Update(at(0)); w.Doubts(awake(50, test.change)) {
				t.Error("doubts before it sleeps")
			}
			w.Update(at(200))
			if got := w.Doubts(awake(300, test.change)); got != test.doubts || w.InDoubt() != test.doubts {
				t.Errorf("doubts %v, %v", got, w.InDoubt())
			}
			if got := w.Doubts(awake(329, test.change)); got != test.doubts {
				t.Errorf("later: doubts %v", got)
			}
			if w.Doubts(awake(330, test.change)) {
				t.Error("doubts for too long")
			}
			if w.Update(at(331)); w.InDoubt() || !w.Asleep() {
				t.Errorf("asleep again: in doubt %v, asleep %v", w.InDoubt(), w.Asleep())
			}
		})
	}
}

// TestOnlyTimeThatItIsOn: a gang that is stopped while its ranks happen to sleep is not asleep for
// that.
func TestOnlyTimeThatItIsOn(t *testing.T) {
	var w Watch
	for ms := range 1000 {
		s := at(ms)
		s.On = time.Duration(ms) * time.Millisecond / 10
		if asleep := w.Update(s) || w.Asleep(); asleep {
			t.Fatalf("asleep after %v", s.On)
		}
	}
	s := at(2010)
	s.On = 201 * time.Millisecond
	if !w.Update(s) {
		t.Error("never asleep")
	}
}

// TestRanksPollTogether: ranks that began to wait at the same instant look around at the same
// instant, too.
func TestRanksPollTogether(t *testing.T) {
	const look = 2500 * time.Microsecond // of a program in Go on a slow machine
	var w Watch
	var cpu time.Duration
	for ms := 0; ms <= 10_000; ms += 20 {
		s := at(ms)
		if ms%1000 == 0 {
			cpu += time.Duration(s.Ranks) * look
		}
		s.CPU = cpu
		w.Update(s)
		if asleep := ms >= 200; w.Asleep() != asleep {
			t.Fatalf("asleep %v after %d ms", w.Asleep(), ms)
		}
	}
}

// TestNothingIsMissed: what happened between two looks, and is over, has another epoch.
func TestNothingIsMissed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var w Watch
		s, epoch := at(0), uint64(0)
		for range 200 {
			s.Now += rapid.Int64Range(1, int64(Window)).Draw(t, "time")
			s.On = time.Duration(s.Now)
			happened := rapid.IntRange(0, 9).Draw(t, "happens") == 0
			if happened {
				s.Mark++
			}
			was, changed := w.Asleep(), w.Update(s)
			if changed != (was != w.Asleep()) || happened && (w.Asleep() || w.Epoch() == epoch) {
				t.Fatalf("asleep %v after %v, changed %v, epoch %d after %d", w.Asleep(), was, changed, w.Epoch(), epoch)
			}
			if w.Asleep() && w.Epoch() != epoch {
				t.Fatal("asleep at once")
			}
			epoch = w.Epoch()
		}
	})
}
