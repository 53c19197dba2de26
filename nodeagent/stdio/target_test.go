package stdio

import (
	"errors"
	"score/scored/api/filename"
	"strings"
	"testing"
)

func pattern(t *testing.T, text string) filename.Pattern {
	t.Helper()
	p, err := filename.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestTarget(t *testing.T) {
	cases := []struct {
		text string
		want Target
	}{
		{"all", Target{Kind: All}},
		{"none", Target{Kind: None}},
		{"0", Target{Kind: OneRank}},
		{"3", Target{Kind: OneRank, Rank: 3}},
		{"./3", Target{Kind: File, Pattern: pattern(t, "./3")}},
		{"o.%t", Target{Kind: File, Pattern: pattern(t, "o.%t")}},
	}
	for _, c := range cases {
		if got, err := ParseTarget(c.text, 4); err != nil || got != c.want {
			t.Errorf("%q: %+v, %v", c.text, got, err)
		}
	}
	for text, says := range map[string]string{"4": "not one of 0 to 3", "-1": "./-1", "%q": "unknown", "": "empty"} {
		if _, err := ParseTarget(text, 4); !errors.Is(err, filename.ErrInvalid) || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
