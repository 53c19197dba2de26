package options

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseHosts(t *testing.T) {
	for text, want := range map[string]string{
		"n1":            "n1",
		"n1,n2":         "n1 n2",
		"n[1-3]":        "n1 n2 n3",
		"n[1-2,5],x":    "n1 n2 n5 x",
		"n[08-10]":      "n08 n09 n10",
		"a[1]-ib,b":     "a1-ib b",
		"r[1-2]n,r[3]n": "r1n r2n r3n",
	} {
		got, err := parseHosts(text)
		if err != nil || strings.Join(got, " ") != want {
			t.Errorf("parseHosts(%q) = %v, %v; want %s", text, got, err, want)
		}
	}
	for _, text := range []string{
		"", ",", "n1,", "n[", "n]", "n[]", "n[1", "n[1-]", "n[-1]", "n[2-1]", "n[a]", "n[[1]]", "n[1][2]",
		"n[1-99999999]", "n[1-4000000000]", "n[1-60000],n[1-60000]",
	} {
		if got, err := parseHosts(text); err == nil {
			t.Errorf("parseHosts(%q) has %d names, want an error", text, len(got))
		}
	}
}

func TestExport(t *testing.T) {
	environ := []string{"PATH=/bin", "HOME=/root", "A=1", "B=2", "SCORE_X=y", "nonsense"}
	for text, want := range map[string]string{
		"ALL":              "PATH=/bin HOME=/root A=1 B=2 SCORE_X=y",
		"all":              "PATH=/bin HOME=/root A=1 B=2 SCORE_X=y",
		"NONE":             "SCORE_X=y",
		"NIL":              "SCORE_X=y",
		"A":                "A=1 SCORE_X=y",
		"A,PATH":           "PATH=/bin A=1 SCORE_X=y",
		"MISSING":          "SCORE_X=y",
		"A=9":              "SCORE_X=y A=9",
		"ALL,A=9":          "PATH=/bin HOME=/root B=2 SCORE_X=y A=9",
		"B,A=9":            "B=2 SCORE_X=y A=9",
		"A=x=y":            "SCORE_X=y A=x=y",
		"A=":               "SCORE_X=y A=",
		"A=1,A=2":          "SCORE_X=y A=2",
		"PATH,NEW=1,ALL":   "PATH=/bin HOME=/root A=1 B=2 SCORE_X=y NEW=1",
		"SCORE_X=z,C=long": "SCORE_X=z C=long",
	} {
		export, err := parseExport(text)
		if err != nil {
			t.Errorf("parseExport(%q): %v", text, err)
			continue
		}
		if diff := cmp.Diff(want, strings.Join(export.Apply(environ), " ")); diff != "" {
			t.Errorf("--export %s (-want +got):\n%s", text, diff)
		}
	}
	for _, text := range []string{"", ",", "A,", "=1", "A,NONE", "A B", "A\nB=1"} {
		if _, err := parseExport(text); err == nil {
			t.Errorf("parseExport(%q) was accepted", text)
		}
	}
}
