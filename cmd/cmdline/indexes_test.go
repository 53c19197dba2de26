package cmdline

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestArray(t *testing.T) {
	for text, want := range map[string]Array{
		"7":              {Indexes: []uint32{7}},
		"0-3":            {Indexes: []uint32{0, 1, 2, 3}},
		"9,1-3,20-30:5":  {Indexes: []uint32{9, 1, 2, 3, 20, 25, 30}},
		"0-5:2%2":        {Indexes: []uint32{0, 2, 4}, AtOnce: 2},
		"4000000%100000": {Indexes: []uint32{4_000_000}, AtOnce: 100_000},
		"5-9:4000000":    {Indexes: []uint32{5}},
	} {
		got, err := ParseArray(text)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", text, err, diff)
		}
	}
	for text, says := range map[string]string{
		"": "0-9", ",": "0-9", "1,": "0-9", "a": "0-9", "-1": "0-9", "1-": "0-9", "1-2-3": "0-9", "1:2": "0-9", "1-9:0": "0-9",
		"1-9:": "0-9", "1%": "whole number", "1%0": "at least 1", "1%x": "whole number", "3-1": "0-9",
		"1,1": "1 is named twice", "0-4,2": "2 is named twice", "0-10000": "at most 10000", "4000001": "largest index",
		"99999999999999999999": "0-9",
	} {
		if got, err := ParseArray(text); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v, %v; want an error with %q", text, got, err, says)
		}
	}
}

// FuzzArray: what is accepted has its bounds, and no index twice.
func FuzzArray(f *testing.F) {
	for _, seed := range []string{"0-9", "1,3,7", "0-100:10%4", "4294967295", "1-4000000:400"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		a, err := ParseArray(text)
		if err != nil {
			return
		}
		seen := make(map[uint32]bool)
		for _, i := range a.Indexes {
			if seen[i] || i > maxIndex {
				t.Fatalf("%q: %v", text, a.Indexes)
			}
			seen[i] = true
		}
		if len(a.Indexes) == 0 || len(a.Indexes) > maxIndexes || a.AtOnce < 0 {
			t.Fatalf("%q: %d indexes, %d at once", text, len(a.Indexes), a.AtOnce)
		}
	})
}
