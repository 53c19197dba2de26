package api

import (
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// namePattern says the same as ValidName.
var namePattern = regexp.MustCompile(`\A[A-Za-z0-9][A-Za-z0-9_-]{0,62}\z`)

func TestValidName(t *testing.T) {
	for name, want := range map[string]bool{
		"lab": true, "n1": true, "7": true, "A-b_C": true, strings.Repeat("x", MaxName): true,
		"": false, "-a": false, "_a": false, "a b": false, "a/b": false, "a.b": false, "a\n": false, "é": false, "a\x00": false,
		strings.Repeat("x", MaxName+1): false,
	} {
		if got := ValidName(name); got != want {
			t.Errorf("%q: %v, want %v", name, got, want)
		}
	}
}

func TestValidNameIsThePattern(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.OneOf(rapid.StringMatching(`[A-Za-z0-9_ .-]{0,66}`), rapid.String()).Draw(t, "name")
		if got, want := ValidName(name), namePattern.MatchString(name); got != want {
			t.Fatalf("%q: %v, want %v", name, got, want)
		}
	})
}
