package quote

import (
	"encoding/json"
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

// What JSON allows unescaped reads as the same text, and is printable.
func TestJSON(t *testing.T) {
	const text = "größer\n\x7f\u009b31m\u202e\u2028\U000e0001\U0001f600"
	encoded, err := json.Marshal(map[string]string{"text": text})
	if err != nil {
		t.Fatal(err)
	}
	shown := JSON(encoded)
	if want := `{"text":"größer\n\u007f\u009b31m\u202e\u2028\udb40\udc01\U0001f600"}`; string(shown) != strings.ReplaceAll(want, `\U0001f600`, "\U0001f600") {
		t.Errorf("%s", shown)
	}
	var read map[string]string
	if err := json.Unmarshal(shown, &read); err != nil || read["text"] != text {
		t.Errorf("%q, %v", read["text"], err)
	}
}
