package state

import (
	"bytes"
	"errors"
	"score/scored/state/statepb"
	"slices"
	"testing"
)

// TestWithheld: a job gets no places while it is held or waits for others, also after a restart.
func TestWithheld(t *testing.T) {
	s := New()
	waiting := submit(3, 1)
	waiting.GetSubmit().Unmet = []uint64{1, 2}
	mustApply(t, s, node("n1", 4), submit(1, 1), submit(2, 1), waiting, held(3, "ada"), allocate(1, 0, place("n1", []uint32{0}, []uint32{0})))
	places := allocate(3, 0, place("n1", []uint32{0}, []uint32{1}))
	started, ended := markRunning(1), end(2)
	started.GetMarkRunning().Met, ended.GetEnd().Met = []uint64{3}, []uint64{3}
	for _, c := range []*statepb.Command{started, ended, held(3, "")} {
		restored, err := Restore(image(t, s))
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range []*State{s, restored} {
			if err := s.Apply(entry(s.Nanos(), places)); !errors.Is(err, ErrPhase) || !s.Job(3).Withheld() {
				t.Errorf("it starts: %v, %+v", err, s.Job(3))
			}
		}
		mustApply(t, s, c)
	}
	mustApply(t, s, places)
	if job := s.Job(3); job.Withheld() || job.Phase != Allocated {
		t.Errorf("%+v", job)
	}
}

// TestWithheldDoesNotFit: entries that contradict what jobs wait for change nothing.
func TestWithheldDoesNotFit(t *testing.T) {
	s := New()
	waiting := submit(3, 1)
	waiting.GetSubmit().Unmet = []uint64{1}
	mustApply(t, s, node("n1", 4), submit(1, 1), submit(2, 1), waiting, allocate(1, 0, place("n1", []uint32{0}, []uint32{0})))
	before := image(t, s)
	unmet := func(on ...uint64) *statepb.Command {
		c := submit(4, 1)
		c.GetSubmit().Unmet = on
		return c
	}
	meets := func(on JobID, jobs ...uint64) *statepb.Command {
		c := end(on)
		c.GetEnd().Met = jobs
		return c
	}
	for _, c := range []*statepb.Command{
		unmet(0), unmet(4), unmet(2, 1), unmet(1, 1),
		held(1, "ada"), held(9, "ada"), meets(2, 3), meets(1, 3, 3), meets(1, 2), meets(1, 1), meets(1, 9),
	} {
		if err := s.Apply(entry(s.Nanos(), c)); err == nil || !bytes.Equal(image(t, s), before) {
			t.Errorf("%v: %v", c, err)
		}
	}
	mustApply(t, s, meets(1, 3))
	if got := s.Job(3).Unmet; len(got) != 0 || !slices.Equal(waiting.GetSubmit().GetUnmet(), []uint64{1}) {
		t.Errorf("waits for %v", got)
	}
}
