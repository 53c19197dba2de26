package main

import (
	"errors"
	"strings"
	"testing"
)

func TestParseHPCC(t *testing.T) {
	lines := []string{"Begin of Summary section.", "VersionMajor=1", "Success=1"}
	for _, f := range hpccFigures {
		lines = append(lines, f.line+"=2.5")
	}
	whole := strings.Join(append(lines, hpccEnd), "\n")
	values, err := parseHPCC(whole)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range hpccFigures {
		if got := column([]map[string]float64{values}, f.line); len(got) != 1 || got[0] != 2.5 {
			t.Errorf("%s: %v", f.line, got)
		}
	}
	for name, out := range map[string]string{
		"no success":   strings.Replace(whole, "Success=1", "Success=0", 1),
		"cut off":      strings.TrimSuffix(whole, hpccEnd),
		"not measured": strings.Replace(whole, "PTRANS_GBs=2.5", "PTRANS_GBs=-1", 1),
		"no such line": strings.Replace(whole, "MPIFFT_Gflops", "FFT", 1),
		"nothing":      "",
	} {
		if _, err := parseHPCC(out); !errors.Is(err, errHPCC) {
			t.Errorf("%s: %v, want errHPCC", name, err)
		}
	}
}
