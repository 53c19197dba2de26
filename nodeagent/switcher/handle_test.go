package switcher

import (
	"testing"
	"time"
)

// TestRan: only the time between coming on and being stopped counts, whatever is said twice.
func TestRan(t *testing.T) {
	var h Handle
	for _, step := range []struct {
		on   bool
		at   int64
		want time.Duration // a nanosecond later
	}{
		{false, 5, 0}, {true, 10, 1}, {true, 20, 11}, {false, 30, 20}, {false, 40, 20}, {true, 50, 21}, {false, 50, 20},
	} {
		h.set(step.on, step.at)
		if got := h.Ran(step.at + 1); got != step.want || h.On() != step.on {
			t.Errorf("at %d: ran %v, on %v, want %v", step.at, got, h.On(), step.want)
		}
	}
}
