package system

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"score/cmd/scored/cli"
	"score/cmd/scrun/options"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// maxSaid is how much a program says about a mistake: some words of 120 bytes, or the 2,000 of a
// sentence, and the names of what there is.
const maxSaid = 6000

// garbage is what arguments must not do to a terminal.
func garbage() map[string]string {
	return map[string]string{
		"controls": "a\x1b[31m\x07b", "no UTF-8": "a\xff\x9bb", "lines": "a\nb\rc", "reversed": "a\u202eb",
		"long": strings.Repeat("x", 100_000),
	}
}

// Whatever is given to whichever command and option: what the programs say about it can be read on
// a terminal, and leaves it as it is.
func TestGarbage(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a cluster and hundreds of programs")
	}
	p := newPlace(t)
	p.cluster(t, 2)
	for what, bad := range garbage() {
		t.Run(what, func(t *testing.T) {
			for _, words := range badLines(bad) {
				p.mustBeReadable(t, words)
			}
		})
	}
}

// badLines are command lines with a text in each place where one can be given.
func badLines(bad string) (lines [][]string) {
	lines = append(
		lines,
		[]string{"scored", bad},
		[]string{"scored", "--" + bad},
		[]string{"scrun", "--" + bad, "true"},
		[]string{"scrun", bad},
		[]string{"scored", "server", "--config", bad},
		[]string{"scored", "agent", "--config", bad},
		[]string{"scored", "dev", "--nodes", bad},
		[]string{
			"scored",
			"dev",
			"--log-level",
			bad,
		},
		[]string{"scored", "dev", bad},
		[]string{"scored", "init", bad},
		[]string{"scored", "init", "--name", bad},
		[]string{"scored", "init", "--config", bad, "--name", bad},
	)
	options.Command(nil).Flags().VisitAll(func(flag *pflag.Flag) {
		if flag.Hidden || flag.Name == "help" || flag.Name == "output" || flag.Name == "error" {
			return // the last two name files, which would be made
		}
		lines = append(lines, []string{"scrun", "--" + flag.Name + "=" + bad, "true"})
	})
	each(cli.Root(), nil, func(command *cobra.Command, path []string) {
		lines = append(lines, append(path[:len(path):len(path)], bad), append(path[:len(path):len(path)], bad, bad))
		command.LocalFlags().VisitAll(func(flag *pflag.Flag) {
			if flag.Name == "help" {
				return
			}
			lines = append(lines, append(path[:len(path):len(path)], "--"+flag.Name+"="+bad), append(path[:len(path):len(path)], "--"+flag.Name+"="+bad, "1"))
		})
	})
	return lines
}

// each visits the commands that do something.
func each(command *cobra.Command, above []string, visit func(*cobra.Command, []string)) {
	path := append(above[:len(above):len(above)], command.Name())
	if command.Runnable() {
		visit(command, path)
	}
	for _, child := range command.Commands() {
		if child.Name() != "help" && child.Name() != "completion" {
			each(child, path, visit)
		}
	}
}

func (p *place) mustBeReadable(t *testing.T, words []string) {
	t.Helper()
	command := exec.Command(filepath.Join(binaries, words[0]), words[1:]...)
	command.Dir, command.Env = p.dir, p.env
	kill := time.AfterFunc(lineTimeout, func() { _ = command.Process.Kill() })
	defer kill.Stop()
	out, _ := command.CombinedOutput() // most fail, and that is right
	if problem := unreadable(string(out)); problem != "" {
		t.Errorf("%.300q: %s:\n%.600q", words, problem, out)
	}
}

func unreadable(text string) string {
	if !utf8.ValidString(text) {
		return "not UTF-8"
	}
	if len(text) > maxSaid {
		return fmt.Sprintf("%d bytes", len(text))
	}
	for _, r := range text {
		if r != '\n' && r != '\t' && (unicode.IsControl(r) || r == '\u202e') {
			return fmt.Sprintf("%U", r)
		}
	}
	return ""
}
