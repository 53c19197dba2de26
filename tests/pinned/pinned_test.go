package pinned

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestUpdate(t *testing.T) {
	defer func(was bool) { *update = was }(*update)
	dir := t.TempDir()
	for _, name := range []string{"one.txt", "two.txt"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("> say "+name+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var played []string
	play := func(t *testing.T, script string) string {
		played = append(played, t.Name())
		said, _, _ := strings.Cut(strings.TrimPrefix(script, "> say "), "\n")
		return "> say " + said + "\n" + said + "\n"
	}
	for _, *update = range []bool{true, false} {
		Scripts(t, filepath.Join(dir, "*.txt"), play)
	}
	if len(played) != 4 || !strings.HasSuffix(played[0], "/one") {
		t.Errorf("played %q", played)
	}
	if got, err := os.ReadFile(filepath.Join(dir, "two.txt")); err != nil || string(got) != "> say two.txt\ntwo.txt\n" {
		t.Errorf("%q, %v", got, err)
	}
}

// text has this binary compare its value with "want".
const text = "SCORE_TEST_PINNED"

func TestDifference(t *testing.T) {
	if got, inner := os.LookupEnv(text); inner {
		File(t, "testdata/want", got)
		return
	}
	for got, same := range map[string]bool{"want": true, "got": false} {
		command := exec.Command(os.Args[0], "-test.run", "^TestDifference$")
		command.Env = append(os.Environ(), text+"="+got)
		out, err := command.CombinedOutput()
		if (err == nil) != same || !same && !strings.Contains(string(out), "-update writes it") {
			t.Errorf("%q: %v\n%s", got, err, out)
		}
	}
}
