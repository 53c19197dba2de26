// Package pinned compares a program's output with files of earlier output. A difference is a bug,
// or it is wanted: then `go test -update` writes the files.
package pinned

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write what the programs say into the files that it is compared with")

// File compares a text with the file at path, relative to the test's package.
func File(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got; go test -update writes it):\n%s", path, diff)
	}
}

// Scripts plays each script that matches the pattern, at least one, in a subtest. Play gives the
// script back with its output as it is.
func Scripts(t *testing.T, pattern string, play func(t *testing.T, script string) string) {
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts in %s: %v", pattern, err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
		t.Run(name, func(t *testing.T) {
			script, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			File(t, file, play(t, string(script)))
		})
	}
}

// Commands gives a script back with its output as it is. In the script, what came of a line ">
// WORDS..." stands below it; comments begin with #. Run executes the words and writes to out what
// they say. If there is a state, it follows each command that changed it.
func Commands(text string, out *strings.Builder, state func() string, run func(words []string)) string {
	shown := ""
	if state != nil {
		shown = state()
	}
	for line := range strings.Lines(text) {
		switch {
		case strings.HasPrefix(line, "#"), line == "\n":
			out.WriteString(line)
		case strings.HasPrefix(line, ">"):
			out.WriteString(line)
			run(strings.Fields(line[1:]))
			if state == nil {
				continue
			}
			if now := state(); now != shown {
				shown = now
				out.WriteString(now)
			}
		}
	}
	return out.String()
}

// At is run for Commands whose first word is the instant of the command, as "20us".
func At(t *testing.T, run func(after time.Duration, command string, args []string)) func(words []string) {
	return func(words []string) {
		after, err := time.ParseDuration(words[0])
		if err != nil {
			t.Fatalf("%q: %v", words, err)
		}
		run(after, words[1], words[2:])
	}
}
