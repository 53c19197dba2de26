package leader

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// TestClip: a text that is too long is cut between two characters.
func TestClip(t *testing.T) {
	for before := range 4 {
		text := strings.Repeat("x", before) + strings.Repeat("\u20ac", maxText)
		got := clip(text)
		kept, cut := strings.CutSuffix(got, "...")
		if !cut || !utf8.ValidString(got) || !strings.HasPrefix(text, kept) || len(kept) > maxText || len(kept) < maxText-utf8.UTFMax {
			t.Errorf("%d before: %q", before, got)
		}
	}
	if got := clip("gl\u00fcck"); got != "gl\u00fcck" {
		t.Errorf("a short text: %q", got)
	}
}
