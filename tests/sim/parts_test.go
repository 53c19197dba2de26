package sim

import (
	"score/flowctl"
	"slices"
	"testing"
)

// TestRngIsPinned: a seed is one run for ever only if the dice are.
func TestRngIsPinned(t *testing.T) {
	r := rng{state: 1234567}
	for i, want := range []uint64{6457827717110365317, 3203168211198807973, 9817491932198370423} {
		if got := r.next(); got != want {
			t.Errorf("draw %d is %d, want %d", i, got, want)
		}
	}
	seen := map[int]int{}
	for range 10_000 {
		seen[r.between(3, 6)]++
	}
	for n := 3; n <= 6; n++ {
		if seen[n] < 2_000 {
			t.Errorf("%d was drawn %d times of 10,000", n, seen[n])
		}
	}
	if len(seen) != 4 {
		t.Errorf("drawn: %v", seen)
	}
}

// TestQueueOrder: by instant, and by order of making at equal instants.
func TestQueueOrder(t *testing.T) {
	r := rng{state: 1}
	var q queue
	var want []event
	for i := range 1000 {
		q.add(int64(r.below(50)), evTick, int32(i), 0)
	}
	want = slices.Clone(q.heap)
	slices.SortFunc(want, func(a, b event) int {
		if a.before(&b) {
			return -1
		}
		return 1
	})
	for i := range want {
		if got, ok := q.take(); !ok || got != want[i] {
			t.Fatalf("event %d is %+v, want %+v", i, got, want[i])
		}
	}
	if _, ok := q.take(); ok {
		t.Error("an event came from nowhere")
	}
}

// TestWorldsDiffer: the seeds must make the worlds they are meant to make.
func TestWorldsDiffer(t *testing.T) {
	var lossless, ordered, switching, credits, wrapping, small, images int
	const n = 1000
	for seed := range uint64(n) {
		s := draw(&rng{state: seed})
		count(&lossless, s.faults.loss == 0)
		count(&ordered, s.ordered)
		count(&switching, s.slice > 0)
		_, isCredits := s.flow.Policy.(flowctl.Credits)
		count(&credits, isCredits)
		count(&wrapping, s.jobs[0].spec.First != 0)
		count(&small, s.flow.MaxWindow == 2)
		count(&images, drives(seed, Mixed, &s))
		if err := s.flow.Validate(); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
	}
	for name, got := range map[string]int{
		"without loss": lossless, "ordered": ordered, "with gangs taking turns": switching,
		"with credits": credits, "where numbers wrap": wrapping, "with the smallest window": small, "of images": images,
	} {
		if got < n/20 || got > n*19/20 {
			t.Errorf("%d of %d worlds are %s", got, n, name)
		}
	}
}

func count(n *int, yes bool) {
	if yes {
		*n++
	}
}
