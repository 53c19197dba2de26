package quote

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestWord(t *testing.T) {
	long := strings.Repeat("ä", 100_000)
	for text, want := range map[string]string{
		"": `""`, "a.out": "a.out", "größe": "größe", "two words": `"two words"`, "a\x1b[31m": `"a\x1b[31m"`,
		"\xff": `"\xff"`, "a\nb": `"a\nb"`, "it's": `"it's"`, long: strings.Repeat("ä", 60) + "...",
	} {
		if got := Word(text); got != want {
			t.Errorf("%.40q is shown as %s, want %s", text, got, want)
		}
	}
}

func TestSentence(t *testing.T) {
	for text, want := range map[string]string{
		"plain, größer": "plain, größer", "bell \a and \x9b": `bell \a and \x9b`, "\u202ereversed": `\u202ereversed`,
		`a \ stays`: `a \ stays`,
	} {
		if got := Sentence(text); got != want {
			t.Errorf("%q is shown as %s, want %s", text, got, want)
		}
	}
	got := Sentence("begin " + strings.Repeat("ä", 100_000) + " end")
	if len(got) > maxSentence+10 || !utf8.ValidString(got) || !strings.HasPrefix(got, "begin ") || !strings.HasSuffix(got, " end") {
		t.Errorf("a long sentence has %d bytes: %.20q", len(got), got)
	}
}
