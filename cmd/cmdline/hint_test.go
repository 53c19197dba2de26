package cmdline

import (
	"strings"
	"testing"
)

func TestHint(t *testing.T) {
	words := []string{"log", "slice", "max_rows", "memory_per_cpu", "fair_share", "usage_half_life"}
	for typed, want := range map[string]string{
		"slcie": "slice", "slices": "slice", "max-rows": "max_rows", "maxrows": "max_rows",
		"fairshare": "fair_share", "memory": "memory_per_cpu", "usage": "usage_half_life",
		"colour": "", "foo": "", "lg": "log", "": "", "ab": "", strings.Repeat("slice", 100000): "",
	} {
		if want != "" {
			want = "; did you mean " + want + "?"
		}
		if got := Hint(typed, words); got != want {
			t.Errorf("%.20q: %q, want %q", typed, got, want)
		}
	}
}
