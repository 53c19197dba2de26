package switcher

import (
	"context"
	"testing"
	"time"
)

// TestRunTime: only the time between coming on and being stopped counts, whatever is said twice.
func TestRunTime(t *testing.T) {
	var h Handle
	for _, step := range []struct {
		on   bool
		at   int64
		want time.Duration // a nanosecond later
	}{
		{false, 5, 0}, {true, 10, 1}, {true, 20, 11}, {false, 30, 20}, {false, 40, 20}, {true, 50, 21}, {false, 50, 20},
	} {
		if step.on {
			h.noteOn(step.at)
		} else {
			h.noteStopped(step.at)
		}
		if got := h.Ran(step.at + 1); got != step.want || h.On() != step.on {
			t.Errorf("at %d: ran %v, on %v, want %v", step.at, got, h.On(), step.want)
		}
	}
}

// TestThreadAnswers: the thread answers while it runs, not when it is busy elsewhere or has ended.
func TestThreadAnswers(t *testing.T) {
	s, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	hasty, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if err := s.Alive(hasty); err == nil {
		t.Error("a thread that was never started answers")
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { s.Run(ctx); close(ended) }()
	if err := s.Alive(t.Context()); err != nil {
		t.Error(err)
	}
	stop()
	<-ended
	if err := s.Alive(t.Context()); err == nil {
		t.Error("a thread that has ended answers")
	}
}
