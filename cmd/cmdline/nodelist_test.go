package cmdline

import (
	"strings"
	"testing"
)

func TestParseNodes(t *testing.T) {
	for text, want := range map[string]string{
		"n1":            "n1",
		"n1,n2":         "n1 n2",
		"n[1-3]":        "n1 n2 n3",
		"n[1-2,5],x":    "n1 n2 n5 x",
		"n[08-10]":      "n08 n09 n10",
		"a[1]-ib,b":     "a1-ib b",
		"r[1-2]n,r[3]n": "r1n r2n r3n",
	} {
		got, err := ParseNodes(text)
		if err != nil || strings.Join(got, " ") != want {
			t.Errorf("ParseNodes(%q) = %v, %v; want %s", text, got, err, want)
		}
	}
	for _, text := range []string{
		"", ",", "n1,", "n[", "n]", "n[]", "n[1", "n[1-]", "n[-1]", "n[2-1]", "n[a]", "n[[1]]", "n[1][2]",
		"n[1-99999999]", "n[1-4000000000]", "n[1-60000],n[1-60000]",
	} {
		if got, err := ParseNodes(text); err == nil {
			t.Errorf("ParseNodes(%q) has %d names, want an error", text, len(got))
		}
	}
}
