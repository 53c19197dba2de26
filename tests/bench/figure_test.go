package main

import (
	"math"
	"strings"
	"testing"
)

func TestFigureLine(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		f    figure
		want string
	}{
		{figure{"a", 12.34567, "ms", nan, nan, noTarget()}, "figure a 12.35 ms peer=- ratio=- target=none ok"},
		{figure{"a", 10, "ms", 20, 0.5, atMost("ratio", 0.5)}, "figure a 10 ms peer=20 ratio=0.5 target=ratio<=0.5 ok"},
		{figure{"a", 10, "ms", 20, 0.51, atMost("ratio", 0.5)}, "figure a 10 ms peer=20 ratio=0.51 target=ratio<=0.5 short"},
		{figure{"a", 12, "ms", 5, 2.4, atMost("diff", 6)}, "figure a 12 ms peer=5 ratio=2.4 target=diff<=6 short"},
		{figure{"a", nan, "ms", nan, nan, atMost("value", 6)}, "figure a - ms peer=- ratio=- target=value<=6 short"},
	} {
		if got := c.f.String(); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
}

func TestPairTakesMedianOfRatios(t *testing.T) {
	var out strings.Builder
	r := &report{out: &out}
	r.pair("p", []float64{1, 2, 30}, []float64{2, 4, 10}, "ms", atMost("ratio", 0.5))
	if want := "figure p 2 ms peer=4 ratio=0.5 target=ratio<=0.5 ok\n"; out.String() != want {
		t.Errorf("got %q want %q", out.String(), want)
	}
}

func TestMedian(t *testing.T) {
	if got := median([]float64{4, 1, 3, 2}); got != 2.5 {
		t.Errorf("median of four: %v", got)
	}
	if !math.IsNaN(median(nil)) {
		t.Error("median of nothing is a number")
	}
}

func TestChooseRefusesUnknownGroups(t *testing.T) {
	if _, err := choose("launch,lunch"); err == nil {
		t.Error("an unknown group was accepted")
	}
	if g, err := choose(""); err != nil || len(g) != len(groups) {
		t.Errorf("all groups: %v, %v", g, err)
	}
}

func TestQuantile(t *testing.T) {
	xs := []float64{5, 1, 4, 2, 3}
	if lowest, highest, high := quantile(xs, 0), quantile(xs, 1), quantile(xs, 0.7); lowest != 1 || highest != 5 || high != 4 {
		t.Errorf("%v, %v, %v", lowest, highest, high)
	}
	if !math.IsNaN(quantile(nil, 0.5)) {
		t.Error("a quantile of nothing")
	}
}
