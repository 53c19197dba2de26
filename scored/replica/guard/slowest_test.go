package guard

import (
	"testing"
	"time"
)

// A slow write is remembered for one to two minutes.
func TestSlowest(t *testing.T) {
	var s slowest
	start := time.Unix(1000, 0)
	at := func(after time.Duration) time.Time { return start.Add(after) }
	s.add(start, 3*time.Second)
	s.add(start, time.Second)
	for _, step := range []struct{ after, want time.Duration }{
		{0, 3 * time.Second},
		{slowestWindow - 1, 3 * time.Second},
		{slowestWindow, 3 * time.Second},
		{2*slowestWindow - 1, 3 * time.Second},
		{2 * slowestWindow, 0},
		{9 * slowestWindow, 0},
	} {
		if got := s.longest(at(step.after)); got != step.want {
			t.Errorf("after %v: %v, want %v", step.after, got, step.want)
		}
	}
	s.add(at(10*slowestWindow), 2*time.Second)
	s.add(at(11*slowestWindow), time.Second)
	if got := s.longest(at(11 * slowestWindow)); got != 2*time.Second {
		t.Errorf("of two minutes: %v", got)
	}
	if got := s.longest(at(12 * slowestWindow)); got != time.Second {
		t.Errorf("of the later one: %v", got)
	}
}
