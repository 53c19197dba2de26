package state

import (
	"fmt"
	"slices"
	"testing"
)

// TestEnvironmentIsShared: jobs submitted from one shell share one environment, after a snapshot
// too. The end of one job does not affect the next.
func TestEnvironmentIsShared(t *testing.T) {
	s := New()
	for id := range JobID(4) {
		c := submit(id+1, 1)
		c.GetSubmit().GetSpec().Env = []string{"HOME=/", fmt.Sprint("GROUP=", id/2)}
		mustApply(t, s, c)
	}
	restored, err := Restore(image(t, s))
	if err != nil {
		t.Fatal(err)
	}
	for _, state := range []*State{s, restored} {
		for _, id := range []JobID{1, 3} {
			one, other := state.Job(id).Spec.GetEnv(), state.Job(id+1).Spec.GetEnv()
			if !slices.Equal(one, other) || &one[0] != &other[0] {
				t.Errorf("jobs %d and %d have %q and %q", id, id+1, one, other)
			}
		}
		if one, other := state.Job(2).Spec.GetEnv(), state.Job(3).Spec.GetEnv(); slices.Equal(one, other) {
			t.Errorf("jobs 2 and 3 both have %q", one)
		}
	}
	mustApply(t, s, end(1))
	if got := s.Job(2).Spec.GetEnv(); !slices.Equal(got, []string{"HOME=/", "GROUP=0"}) || s.Job(1).Spec.GetEnv() != nil {
		t.Errorf("job 2 has %q after the end of job 1, which has %q", got, s.Job(1).Spec.GetEnv())
	}
}
