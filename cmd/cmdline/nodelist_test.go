package cmdline

import (
	"slices"
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

func TestFormatNodes(t *testing.T) {
	for names, want := range map[string]string{
		"":                       "",
		"n1":                     "n1",
		"n1 n2":                  "n1,n2",
		"n1 n2 n3 n4 n7":         "n[1-4],n7",
		"n08 n09 n10 n11":        "n[08-11]",
		"n8 n9 n10":              "n[8-10]",
		"n1 n02 n3":              "n1,n02,n3",
		"n3 n2 n1":               "n3,n2,n1",
		"a1 a2 a3 b4 b5 b6 host": "a[1-3],b[4-6],host",
		"n99999999999 n100000000000 n100000000001": "n99999999999,n100000000000,n100000000001",
	} {
		nodes := strings.Fields(names)
		got := FormatNodes(nodes)
		if got != want {
			t.Errorf("FormatNodes(%v) = %s, want %s", nodes, got, want)
		}
		if again, err := ParseNodes(got); len(nodes) > 0 && (err != nil || !slices.Equal(again, nodes)) {
			t.Errorf("%s is read as %v, %v", got, again, err)
		}
	}
}
