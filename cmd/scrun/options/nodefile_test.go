package options

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestNodeFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "hosts")
	for content, want := range map[string]string{
		"n1\nn2\n":                            "n1,n2",
		"# nodes\n\nn3 slots=4\n\tn1 # old\n": "n3,n1",
		"n[1-3]\nn2\nn2,n4,\r\n":              "n1,n2,n3,n4",
	} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		o, err := parse(t, "-w", path, "-n", "8", "p")
		if err != nil || strings.Join(o.Hosts, ",") != want {
			t.Errorf("%q: %v, %v; want %s", content, o, err, want)
		}
	}
	for content, says := range map[string]string{
		"": "names no nodes", "#\n": "names no nodes", "n[1\n": `the line "n[1`, "a[1-40000]\nb[1-40000]": "more than 65536",
	} {
		if _, err := parseNodeFile(content); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v, want an error with %q", content, err, says)
		}
	}
	for path, says := range map[string]string{path + "x": "no such file", "/": "is a directory", "/dev/zero": "larger than 8 MiB"} {
		if _, err := parse(t, "-w", path, "p"); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("-w %s: %v, want an error with %q", path, err, says)
		}
	}
}
