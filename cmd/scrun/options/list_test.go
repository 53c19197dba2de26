package options

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

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
