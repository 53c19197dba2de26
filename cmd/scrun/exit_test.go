package main

import (
	"strings"
	"testing"
)

// A line end within a sentence begins no line: it would look like the output of a rank.
func TestSentencesAreOneLine(t *testing.T) {
	var out strings.Builder
	v := messenger{out: &out, verbose: true}
	v.print("job 1 restarts: a\nb\x1b[2J")
	v.note("%s", "c\rd")
	v.fail("e\nf")
	v.warn("job 1 is deadlocked\n  rank 0 waits for \x9b")
	const want = "scrun: job 1 restarts: a\\nb\\x1b[2J\n" + "scrun: c\\rd\n" + "scrun: e\\nf\n" +
		"scrun: warning: job 1 is deadlocked\n  rank 0 waits for \\x9b\n"
	if out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
}
