package filename

import (
	"errors"
	"strings"
	"testing"
)

func TestPattern(t *testing.T) {
	v := Values{Rank: 7, Node: "n-1.x", Job: 42, JobName: "cfd"}
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
		{"%x.%j", "cfd.42", false, false},
	}
	for _, c := range cases {
		p, err := Parse(c.text)
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
		"%q":                      "%q is unknown",
		"%ä":                      "%ä is unknown",
		"%\xff":                   "unknown",
		"%11t":                    "at most 10",
		"%999999999999999999999t": "unknown",
		"%3N":                     "only %t, %j and %a take a width",
		"%0%":                     "only %t, %j and %a take a width",
		"dir/":                    "is a directory",
		"a\x00b":                  "holds a NUL",
		strings.Repeat("a", 5000): "5000 characters",
	}
	for text, says := range cases {
		_, err := Parse(text)
		if !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), says) {
			t.Errorf("%.20q: %v does not say %q", text, err, says)
		}
	}
}

func TestBadExpansions(t *testing.T) {
	for _, sign := range []string{"%N", "%x"} {
		for _, name := range []string{"", "../x", "a\x00"} {
			p, err := Parse(sign)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := p.Expand(Values{Node: name, JobName: name}); !errors.Is(err, ErrInvalid) {
				t.Errorf("%s is %q: %v", sign, name, err)
			}
		}
	}
	p, err := Parse(strings.Repeat("%10t", 1000))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Expand(Values{}); !errors.Is(err, ErrInvalid) {
		t.Errorf("a name of 10,000 characters: %v", err)
	}
}

func TestWithIndex(t *testing.T) {
	for text, want := range map[string]string{
		"out.%a": "out.7", "%3a-%j.%4t-%x%%a": "007-%j.%4t-%x%%a", "plain": "plain", "%a%a.%N": "77.%N",
	} {
		p, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.WithIndex(7).String(); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	p, err := Parse("out.%a")
	if err != nil {
		t.Fatal(err)
	}
	if name, err := p.Expand(Values{}); !errors.Is(err, ErrInvalid) {
		t.Errorf("without an index: %q, %v", name, err)
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"out.%t", "%j/%3t", "%%", "%", "%N", "%12345678901234567890t", "out\xff.%t", "%\xff", "%x"} {
		f.Add(seed, "node", 3, uint64(9))
	}
	f.Fuzz(func(t *testing.T, text, node string, rank int, job uint64) {
		p, err := Parse(text)
		if err != nil {
			if !errors.Is(err, ErrInvalid) {
				t.Fatalf("unexpected kind of error: %v", err)
			}
			return
		}
		name, err := p.Expand(Values{Rank: max(rank, 0), Node: node, Job: job, JobName: node})
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
