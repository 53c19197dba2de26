package messages

import (
	"context"
	"errors"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestMain lets ranks that the tests start be ranks.
func TestMain(m *testing.M) {
	if IsRank() {
		os.Exit(RunRank())
	}
	os.Exit(m.Run())
}

// tiny is a plan that takes no time.
var tiny = Plan{{8, 50, 100}, {65536, 5, 10}}

func TestPlanIsReadAsWritten(t *testing.T) {
	for _, path := range []Path{Shm, UDP} {
		want := NewPlan(path)
		got, err := parsePlan(want.String())
		if err != nil || got.String() != want.String() || len(got) != len(Sizes) {
			t.Errorf("%s: %v %v", path, got, err)
		}
	}
	for _, text := range []string{"", "8", "8:1", "8:1:x", "8:0:1", "8:1:1:1"} {
		if _, err := parsePlan(text); !errors.Is(err, errPlan) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestParseUCX(t *testing.T) {
	c, err := parseUCX("ucx-shm,iterations,50.0_percentile_lat,avg_lat,overall_lat,avg_bw,overall_bw,avg_mr,overall_mr\n" +
		"lat-8,40000,0.291,0.308,0.308,24.81,24.81,3251651,3251651\nbw-8,400000,0.165,0.143,0.143,53.21,53.21,6974958,5000000\n")
	if err != nil || c.Latency[8] != 308 || c.Stream[8] != 200 || c.Rate(8) != 5 || c.Bandwidth(8) != 0.04 {
		t.Errorf("%+v %v", c, err)
	}
	for _, text := range []string{"", "lat-8,40000,0.291\n", "lat-x,1,1,1,1,1,1,1,1\n"} {
		if _, err := parseUCX(text); !errors.Is(err, errOutput) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestParseCurve(t *testing.T) {
	c, err := ParseCurve("lat 8 160.5\nbw 8 50\n")
	if err != nil || c.Latency[8] != 160.5 || c.Rate(8) != 20 {
		t.Errorf("%+v %v", c, err)
	}
	for _, text := range []string{"", "lat 8\n", "lat 8 -1\n", "late 8 1\n"} {
		if _, err := ParseCurve(text); !errors.Is(err, errOutput) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestOutputIsAwaited(t *testing.T) {
	o := newOutput()
	go func() {
		for _, part := range []string{"be", "gin\nundone\ndo", "ne\n"} {
			_, _ = o.Write([]byte(part))
		}
	}()
	if err := o.await(t.Context(), "done"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := o.await(ctx, "do"); !errors.Is(err, context.Canceled) {
		t.Errorf("a part of a line is no line: %v", err)
	}
	_, _ = o.Write([]byte(saidFailed + "\n"))
	if err := o.await(t.Context(), "more"); !errors.Is(err, errRank) {
		t.Errorf("a failure is not seen: %v", err)
	}
}

// TestOursMeasures runs the ranks on both paths, if there are processors for them.
func TestOursMeasures(t *testing.T) {
	if _, err := CPUs(); err != nil {
		t.Skip(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for _, path := range []Path{Shm, UDP} {
		c, err := Ours(ctx, path, tiny, Switches{Immediate: true, Overlap: true})
		if err != nil || len(c.Latency) != len(tiny) || len(c.Stream) != len(tiny) {
			t.Errorf("%s: %+v %v", path, c, err)
		}
	}
	if c, err := Bare(ctx, tiny); err != nil || len(c.Latency) != 1 {
		t.Errorf("bare: %+v %v", c, err)
	}
}

func TestMemory(t *testing.T) {
	m, err := MeasureMemory()
	if err != nil {
		t.Fatal(err)
	}
	if m.PeerNew <= 0 || m.PeerNew > 128 || m.PeerIdle < m.PeerNew || m.PeerIdle > 128 || m.Context > 8e6 {
		t.Errorf("%+v", m)
	}
}

func TestChart(t *testing.T) {
	var c Chart
	run := Curve{Latency: map[int]float64{8: 100, 16: 200}, Stream: map[int]float64{8: 10}}
	c.Add(Shm, "score", []Curve{run, run})
	c.Add(UDP, "bare", []Curve{{Latency: map[int]float64{8: 100}}})
	dir := t.TempDir()
	table, picture := filepath.Join(dir, "t.csv"), filepath.Join(dir, "p.png")
	if err := errors.Join(c.WriteTable(table, "# a machine\n"), c.WritePicture(picture)); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(table)
	want := []string{
		"# a machine", "path,measure,unit,program,bytes,median,least,most,runs",
		`shm,bandwidth,GB/s,"score",8,0.8,0.8,0.8,2`, `shm,latency,us,"score",8,0.1,0.1,0.1,2`, `shm,latency,us,"score",16,0.2,0.2,0.2,2`,
		`udp,latency,us,"bare",8,0.1,0.1,0.1,1`,
	}
	if err != nil || strings.TrimSpace(string(text)) != strings.Join(want, "\n") {
		t.Errorf("%s %v", text, err)
	}
	f, err := os.Open(picture)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := png.Decode(f); err != nil {
		t.Error(err)
	}
}
