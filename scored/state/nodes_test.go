package state

import (
	"errors"
	"score/scored/api/scorev1"
	"score/scored/state/statepb"
	"testing"
)

func drain(name, reason string) *statepb.Command {
	return &statepb.Command{Command: &statepb.Command_DrainNode{DrainNode: &statepb.DrainNode{
		Node: name, Drain: &statepb.Drain{Reason: reason, By: "ann", Requeue: true},
	}}}
}

func resumed(name string) *statepb.Command {
	return &statepb.Command{Command: &statepb.Command_DrainNode{DrainNode: &statepb.DrainNode{Node: name}}}
}

// restart requeues a job whose ranks may have run.
func restart(id JobID, run int64) *statepb.Command {
	return &statepb.Command{Command: &statepb.Command_Requeue{Requeue: &statepb.Requeue{
		JobId: id, Restart: true, Usage: &scorev1.Usage{RunNanos: run},
	}}}
}

func TestDrainOutlivesTheAgent(t *testing.T) {
	s := New()
	at := int64(10)
	apply := func(commands ...*statepb.Command) error {
		at++
		return s.Apply(&statepb.Entry{Term: 1, TimeNanos: at, Commands: commands})
	}
	if err := apply(node("n1", 2), drain("n1", "disk")); err != nil {
		t.Fatal(err)
	}
	if err := apply(node("n1", 4)); err != nil { // the agent is restarted
		t.Fatal(err)
	}
	want := Drain{Reason: "disk", By: "ann", Since: 11, Requeue: true}
	if n := s.Node("n1"); n.CPUs != 4 || n.Drain == nil || *n.Drain != want {
		t.Fatalf("%+v, drain %+v", n, n.Drain)
	}
	if err := apply(drain("n2", "")); !errors.Is(err, ErrUnknownNode) {
		t.Errorf("an unknown node is drained: %v", err)
	}
	if err := apply(resumed("n1")); err != nil || s.Node("n1").Drain != nil {
		t.Errorf("resumed: %v, %+v", err, s.Node("n1").Drain)
	}
}

// A job that restarts is charged once for each of its attempts.
func TestRestartCharges(t *testing.T) {
	s := New()
	at := int64(10)
	apply := func(commands ...*statepb.Command) error {
		at++
		return s.Apply(&statepb.Entry{Term: 1, TimeNanos: at, Commands: commands})
	}
	both := place("n1", []uint32{0, 1}, []uint32{0, 1})
	for _, commands := range [][]*statepb.Command{
		{node("n1", 2), submit(1, 2), allocate(1, 0, both)},
		{markRunning(1), publish(1, "service")},
		{charge(1, 0, 3e9)},
		{restart(1, 5e9)},
		{allocate(1, 1, both)},
	} {
		if err := apply(commands...); err != nil {
			t.Fatal(err)
		}
	}
	job := s.Job(1)
	if job.Restarts != 1 || job.Attempts != 2 || job.Started != 0 || job.Earlier.GetRunNanos() != 5e9 || len(s.Names()) != 0 {
		t.Errorf("requeued: %+v", job)
	}
	if err := apply(markRunning(1), requeue(1)); !errors.Is(err, ErrPhase) {
		t.Errorf("what runs is put back as if it had not: %v", err)
	}
	if err := apply(markRunning(1), charge(1, 0, 6e9)); err != nil {
		t.Fatal(err)
	}
	if held := s.Users()[0].Held; held != 2*6e6 {
		t.Errorf("held %d us, want 12 s of two attempts on two CPUs", held)
	}
}
