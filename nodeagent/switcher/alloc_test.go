package switcher

import (
	"score/ctxswitch"
	"testing"
	"time"
)

// still is a container without processes.
type still struct{}

func (still) Freeze() error              { return nil }
func (still) WaitFrozen(time.Time) error { return nil }
func (still) Thaw() error                { return nil }

func (still) CPUTime() (time.Duration, error) { return 0, nil }

func TestSwitchAllocatesNothing(t *testing.T) {
	s, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.end()
	s.Offset(1, 0)
	for id := range ctxswitch.JobID(2) {
		s.Add(Job{ID: id + 1, Container: still{}, Launch: func() error { return nil }, TimeLimit: time.Hour})
	}
	s.Plan(plan(1, 200*time.Microsecond, []ctxswitch.JobID{1}, []ctxswitch.JobID{2}))
	step := func() {
		s.round()
		s.sleep(s.deadline())
	}
	for range 10 { // both are launched, and tables have their size
		step()
	}
	s.Launched(1)
	s.Launched(2)
	step()
	before := s.machine.Count(ctxswitch.CountSwitches)
	if n := testing.AllocsPerRun(100, step); n != 0 {
		t.Errorf("%v allocations per switch", n)
	}
	if s.machine.Count(ctxswitch.CountSwitches) == before {
		t.Error("nothing was switched")
	}
}
