package messages

import (
	"context"
	"errors"
	"testing"
	"time"
)

func TestPiecesAreReadAsWritten(t *testing.T) {
	const times = 3
	want := NewPieces(UDP, LongSizes, times)
	got, err := parsePlan(want.String())
	if err != nil || got.String() != want.String() || len(got) != times*len(LongSizes) {
		t.Errorf("%v %v", got, err)
	}
}

func TestTheLeastOfPiecesCounts(t *testing.T) {
	c, err := ParseCurve("lat 8 160\nlat 8 90\nlat 8 100\nbw 8 50\nbw 8 40\nallreduce 8 700\nallreduce 8 500\n")
	if err != nil || c.Latency[8] != 90 || c.Stream[8] != 40 || c.Allreduce != 500 {
		t.Errorf("%+v %v", c, err)
	}
	times, err := parseTimes("put 9.5\nget 14\nput 8\n")
	if err != nil || times["put"] != 8 || times["get"] != 14 {
		t.Errorf("%v %v", times, err)
	}
	for _, text := range []string{"", "put\n", "put 0\n", "put x\n"} {
		if _, err := parseTimes(text); !errors.Is(err, errOutput) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestLayersMeasure runs the ranks of each layer on both paths, if there are processors for them.
func TestLayersMeasure(t *testing.T) {
	if _, err := CPUs(); err != nil {
		t.Skip(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	long := Plan{{8, 10, 20}, {1 << 20, 2, 3}}
	short := Plan{{8, 10, 20}, {32 << 10, 2, 3}}
	for _, l := range []Layer{
		{LayerPM, false, -1}, {LayerUCT, false, -1}, {LayerUCT, false, 0}, {LayerTag, false, -1}, {LayerTag, true, -1}, {LayerOFI, false, -1},
	} {
		plan := long
		if l.Name == LayerPM || l.Name == LayerUCT {
			plan = short
		}
		for _, path := range []Path{Shm, UDP} {
			c, err := OfLayer(ctx, path, plan, l)
			if err != nil || len(c.Latency) != len(plan) || len(c.Stream) != len(plan) {
				t.Errorf("%s by %s: %+v %v", l, path, c, err)
			}
		}
	}
}

func TestStackMemory(t *testing.T) {
	m, err := MeasureStackMemory()
	if err != nil {
		t.Fatal(err)
	}
	if m.PeerOnce <= 0 || m.PeerOnce > 4096 || m.Lane <= 0 || m.Lane > m.Limit {
		t.Errorf("%+v", m)
	}
}
