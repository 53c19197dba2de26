package switcher

import "testing"

func TestRingDropsTheOldest(t *testing.T) {
	ring := ring{slots: newBoundaries()[:MaxBoundaries]}
	r := NewReport()
	for _, test := range []struct {
		add            int
		first, dropped uint64
		held           int
	}{
		{0, 0, 0, 0},
		{3, 0, 0, 3},
		{MaxBoundaries, 0, 0, MaxBoundaries},
		{MaxBoundaries + 5, 5, 5, MaxBoundaries},
		{2*MaxBoundaries + 1, MaxBoundaries + 1, MaxBoundaries + 1, MaxBoundaries},
		{1, 0, 0, 1},
	} {
		for i := range test.add {
			ring.add().Version = uint64(i)
		}
		r.reset()
		ring.exchange(r)
		if len(r.Boundaries) != test.held || r.Dropped != test.dropped {
			t.Fatalf("%d added: %d held, %d dropped", test.add, len(r.Boundaries), r.Dropped)
		}
		for i, b := range r.Boundaries {
			if b.Version != test.first+uint64(i) {
				t.Fatalf("%d added: boundary %d is %d", test.add, i, b.Version)
			}
		}
	}
}
