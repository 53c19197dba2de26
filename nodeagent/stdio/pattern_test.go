package stdio

import (
	"errors"
	"strings"
	"testing"
)

func TestPattern(t *testing.T) {
	v := Values{Rank: 7, Node: "n-1.x", Job: 42}
	cases := []struct {
		text, want       string
		perRank, perNode bool
	}{
		{"out", "out", false, false},
		{"out.%t", "out.7", true, false},
		{"%j/%N.%t", "42/n-1.x.7", true, true},
		{"%3t-%05j", "007-00042", true, false},
		{"%1t", "7", true, false},
		{"%10j", "0000000042", false, false},
		{"100%%", "100%", false, false},
		{"%%t", "%t", false, false},
		{"a%N", "an-1.x", false, true},
	}
	for _, c := range cases {
		p, err := ParsePattern(c.text)
		if err != nil {
			t.Errorf("%q: %v", c.text, err)
			continue
		}
		got, err := p.Expand(v)
		if err != nil || got != c.want || p.PerRank() != c.perRank || p.PerNode() != c.perNode || p.String() != c.text {
			t.Errorf("%q: %q, %v, per rank %v, per node %v", c.text, got, err, p.PerRank(), p.PerNode())
		}
	}
}

func TestBadPatterns(t *testing.T) {
	cases := map[string]string{
		"":                        "empty",
		"out%":                    "%% for a percent sign",
		"out%3":                   "%3 at its end",
		"%x":                      "%x is unknown",
		"%ä":                      "%ä is unknown",
		"%\xff":                   "unknown",
		"%11t":                    "at most 10",
		"%999999999999999999999t": "unknown",
		"%3N":                     "only %t and %j take a width",
		"%0%":                     "only %t and %j take a width",
		"dir/":                    "is a directory",
		"a\x00b":                  "zero byte",
		strings.Repeat("a", 5000): "5000 characters",
	}
	for text, says := range cases {
		_, err := ParsePattern(text)
		if !errors.Is(err, ErrPattern) || !strings.Contains(err.Error(), says) {
			t.Errorf("%.20q: %v does not say %q", text, err, says)
		}
	}
}

func TestBadExpansions(t *testing.T) {
	for _, node := range []string{"", "../x", "a\x00"} {
		p, err := ParsePattern("%N")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.Expand(Values{Node: node}); !errors.Is(err, ErrPattern) {
			t.Errorf("node %q: %v", node, err)
		}
	}
	p, err := ParsePattern(strings.Repeat("%10t", 1000))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Expand(Values{}); !errors.Is(err, ErrPattern) {
		t.Errorf("a name of 10,000 characters: %v", err)
	}
}

func FuzzParsePattern(f *testing.F) {
	for _, seed := range []string{"out.%t", "%j/%3t", "%%", "%", "%N", "%12345678901234567890t", "out\xff.%t", "%\xff"} {
		f.Add(seed, "node", 3, uint64(9))
	}
	f.Fuzz(func(t *testing.T, text, node string, rank int, job uint64) {
		p, err := ParsePattern(text)
		if err != nil {
			if !errors.Is(err, ErrPattern) {
				t.Fatalf("unexpected kind of error: %v", err)
			}
			return
		}
		name, err := p.Expand(Values{Rank: max(rank, 0), Node: node, Job: job})
		if err != nil {
			return
		}
		if strings.IndexByte(name, 0) >= 0 || len(name) > maxPath || name == "" {
			t.Fatalf("%q became %q", text, name)
		}
		if !strings.Contains(text, "%") && name != text {
			t.Fatalf("%q became %q", text, name)
		}
	})
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
		{"./3", Target{Kind: File, Pattern: Pattern{text: "./3"}}},
		{"o.%t", Target{Kind: File, Pattern: Pattern{text: "o.%t", perRank: true}}},
	}
	for _, c := range cases {
		if got, err := ParseTarget(c.text, 4); err != nil || got != c.want {
			t.Errorf("%q: %+v, %v", c.text, got, err)
		}
	}
	for text, says := range map[string]string{"4": "not one of 0 to 3", "-1": "./-1", "%q": "unknown", "": "empty"} {
		if _, err := ParseTarget(text, 4); !errors.Is(err, ErrPattern) || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
