package spelling

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestNearest(t *testing.T) {
	words := []string{"slice", "max_rows", "memory_per_cpu", "fair_share", "usage_half_life", "x"}
	for written, want := range map[string]string{
		"slice": "slice", "slcie": "slice", "slices": "slice", "max-rows": "max_rows", "maxrows": "max_rows", "fairshare": "fair_share",
		"memory": "memory_per_cpu", "usage": "usage_half_life", "colour": "", "": "", "ab": "",
		strings.Repeat("slice", 100000): "",
	} {
		if got := Nearest(written, words); got != want {
			t.Errorf("%.20q: %q, want %q", written, got, want)
		}
	}
	if got := Hint("slcie", words); got != "; did you mean slice?" {
		t.Errorf("the hint is %q", got)
	}
	if got := Hint("colour", words); got != "" {
		t.Errorf("the hint is %q", got)
	}
}

// TestDistance: nothing is nearer than a word to itself, the way there is as long as the way back,
// and the lengths bound it.
func TestDistance(t *testing.T) {
	word := rapid.StringMatching(`[a-c]{0,8}`)
	rapid.Check(t, func(t *rapid.T) {
		a, b := word.Draw(t, "a"), word.Draw(t, "b")
		if len(a) > len(b)+far || len(b) > len(a)+far {
			return
		}
		d := distance(a, b)
		if d != distance(b, a) || (d == 0) != (a == b) || d > max(len(a), len(b)) || d < len(a)-len(b) || d < len(b)-len(a) {
			t.Fatalf("%q and %q: %d", a, b, d)
		}
	})
}
