package main

import (
	"fmt"
	"os"
	"path/filepath"
	"score/cmd/manpage"
	"score/tests/pinned"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func files(t *testing.T) map[string]string {
	t.Helper()
	files, err := generate(rootCommand())
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// What packages install must be what the programs say of themselves.
func TestPackagingIsUpToDate(t *testing.T) {
	generated := files(t)
	for name, want := range generated {
		got, err := os.ReadFile(filepath.Join("..", "..", "packaging", name))
		if err != nil || string(got) != want {
			t.Errorf("packaging/%s is not up to date (%v): run make generate", name, err)
		}
	}
	for _, dir := range []string{"man", "completion"} {
		entries, err := os.ReadDir(filepath.Join("..", "..", "packaging", dir))
		if err != nil {
			t.Fatal(err)
		}
		for _, entry := range entries {
			// The files of scrun are checked beside its options, pages of functions beside their
			// headers.
			ours := !strings.Contains(entry.Name(), "scrun") && !strings.HasSuffix(entry.Name(), ".3")
			if _, ok := generated[dir+"/"+entry.Name()]; !ok && ours {
				t.Errorf("packaging/%s/%s belongs to no command any more: remove it", dir, entry.Name())
			}
		}
	}
}

// TestHelp pins the help of all commands, which fits a narrow terminal.
func TestHelp(t *testing.T) {
	var out strings.Builder
	var add func(*cobra.Command)
	add = func(command *cobra.Command) {
		help := manpage.Help(command)
		for line := range strings.Lines(help) {
			if len(line) > manpage.HelpWidth+1 {
				t.Errorf("%s --help has a line of %d characters: %s", command.CommandPath(), len(line)-1, line)
			}
		}
		fmt.Fprintf(&out, "$ %s --help\n%s\n", command.CommandPath(), help)
		for _, child := range manpage.Visible(command) {
			add(child)
		}
	}
	root := rootCommand()
	add(root)
	completion, _, err := root.Find([]string{"completion"}) // not among the visible ones
	if err != nil {
		t.Fatal(err)
	}
	add(completion)
	pinned.File(t, "testdata/help.txt", out.String())
}

func TestEveryCommandHasAPage(t *testing.T) {
	generated := files(t)
	for _, name := range []string{"scored", "scored-server", "scored-agent", "scored-dev", "scored-job-explain", "scored-metrics-switch"} {
		if generated["man/"+name+".1"] == "" {
			t.Errorf("there is no page %s(1)", name)
		}
	}
	for name := range generated {
		if strings.Contains(name, "embedded") || strings.Contains(name, "scored-man") {
			t.Errorf("a hidden command has a page: %s", name)
		}
	}
}

// Help texts name what an option takes by a word of the user's, not by a type of Go.
func TestOptionsNameTheirValues(t *testing.T) {
	types := []string{"string", "strings", "int", "uint", "float", "duration"}
	var check func(command *cobra.Command)
	check = func(command *cobra.Command) {
		command.Flags().VisitAll(func(flag *pflag.Flag) {
			if kind, _ := pflag.UnquoteUsage(flag); slices.Contains(types, kind) && !flag.Hidden && !command.Hidden {
				t.Errorf("%s --%s %s", command.CommandPath(), flag.Name, kind)
			}
		})
		for _, child := range command.Commands() {
			check(child)
		}
	}
	check(rootCommand())
}

func TestWrite(t *testing.T) {
	dir := t.TempDir()
	err := write(filepath.Join(dir, "man"), map[string]string{"man/a.1": "page", "completion/_a": "words", "score.toml": "keys"})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"man/a.1": "page", "completion/_a": "words", "score.toml": "keys"} {
		if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(got) != want {
			t.Errorf("%s holds %q, %v", name, got, err)
		}
	}
}
