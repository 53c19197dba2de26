package api

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestJobName(t *testing.T) {
	for program, want := range map[string]string{
		"true": "true", "/usr/bin/größe": "größe", "./t\xfcxt\xff": `t\xfcxt\xff`, "a\nb": `a\nb`, "/": "/",
		strings.Repeat("\xff", 255): strings.Repeat(`\xff`, 63) + `\xf`, strings.Repeat("a", 254) + "ä": strings.Repeat("a", 254),
	} {
		got := JobName(program)
		if got != want || len(got) > MaxJobName || !utf8.ValidString(got) {
			t.Errorf("%q: %q, want %q", program, got, want)
		}
	}
}
