package state

import (
	"score/scored/api/scorev1"
	"score/scored/state/statepb"
	"testing"
)

// Shorthands for commands keep the tables readable.

func node(name string, cpus uint32) *statepb.Command {
	return &statepb.Command{Command: &statepb.Command_RegisterNode{RegisterNode: &statepb.RegisterNode{
		Node: &statepb.Node{Name: name, Cpus: cpus, BootId: "boot-" + name, Channels: 16},
	}}}
}

func nodeGone(name string) *statepb.Command {
	return &statepb.Command{Command: &statepb.Command_NodeGone{NodeGone: &statepb.NodeGone{Node: name}}}
}

func submit(id JobID, tasks uint32) *statepb.Command {
	return &statepb.Command{Command: &statepb.Command_Submit{Submit: &statepb.Submit{
		JobId: id,
		Spec:  &scorev1.JobSpec{Argv: []string{"a.out"}, Env: []string{"HOME=/"}, Tasks: tasks},
		User:  &scorev1.Identity{Uid: uint32(id % 3), User: "u"},
	}}}
}

func place(node string, ranks, cpus []uint32) *statepb.Place {
	return &statepb.Place{Node: node, Ranks: ranks, Cpus: cpus}
}

func allocate(id JobID, row int32, places ...*statepb.Place) *statepb.Command {
	return &statepb.Command{Command: &statepb.Command_Allocate{Allocate: &statepb.Allocate{JobId: id, Row: row, Places: places, Gang: id}}}
}

func moveRow(id JobID, row int32) *statepb.Command {
	return &statepb.Command{Command: &statepb.Command_MoveRow{MoveRow: &statepb.MoveRow{JobId: id, Row: row}}}
}

func requeue(id JobID) *statepb.Command {
	return &statepb.Command{Command: &statepb.Command_Requeue{Requeue: &statepb.Requeue{JobId: id}}}
}

// held holds a job or, by nobody, releases it.
func held(id JobID, by string) *statepb.Command {
	c := &statepb.HoldJob{JobId: id}
	if by != "" {
		c.Hold = &scorev1.Hold{By: by}
	}
	return &statepb.Command{Command: &statepb.Command_HoldJob{HoldJob: c}}
}

func markRunning(id JobID) *statepb.Command {
	return &statepb.Command{Command: &statepb.Command_MarkRunning{MarkRunning: &statepb.MarkRunning{JobId: id, StartedNanos: 5}}}
}

func end(id JobID) *statepb.Command {
	return &statepb.Command{Command: &statepb.Command_End{End: &statepb.End{
		JobId: id, Verdict: &scorev1.Verdict{Reason: scorev1.EndReason_END_REASON_EXITED, Rank: -1}, Usage: &scorev1.Usage{CpuNanos: 1},
	}}}
}

func settings(slice int64, rows uint32) *statepb.Command {
	return &statepb.Command{Command: &statepb.Command_SetSettings{SetSettings: &statepb.SetSettings{
		Settings: &scorev1.Settings{SliceNanos: slice, MaxRows: rows},
	}}}
}

func publish(id JobID, service string) *statepb.Command {
	return &statepb.Command{Command: &statepb.Command_PublishName{PublishName: &statepb.PublishName{JobId: id, Service: service, Port: "port of " + service}}}
}

func unpublish(id JobID, service string) *statepb.Command {
	return &statepb.Command{Command: &statepb.Command_UnpublishName{UnpublishName: &statepb.UnpublishName{JobId: id, Service: service}}}
}

func entry(nanos int64, commands ...*statepb.Command) *statepb.Entry {
	return &statepb.Entry{Term: 1, TimeNanos: nanos, Commands: commands}
}

func mustApply(t testing.TB, s *State, commands ...*statepb.Command) {
	t.Helper()
	if err := s.Apply(entry(s.Nanos()+1, commands...)); err != nil {
		t.Fatal(err)
	}
}

func image(t testing.TB, s *State) []byte {
	t.Helper()
	data, err := s.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// twoNodes returns a state with nodes n1 and n2 of two CPUs each, job 1 queued, job 2 allocated,
// job 3 running with a name, and job 4 done.
func twoNodes(t testing.TB) *State {
	t.Helper()
	s := New()
	mustApply(t, s, node("n1", 2), node("n2", 2))
	mustApply(t, s, submit(1, 2), submit(2, 2), submit(3, 1), submit(4, 1))
	mustApply(t, s, allocate(2, 0, place("n1", []uint32{0}, []uint32{0}), place("n2", []uint32{1}, []uint32{1})))
	mustApply(t, s, allocate(3, 1, place("n1", []uint32{0}, []uint32{1})), markRunning(3), publish(3, "ocean"))
	mustApply(t, s, end(4))
	return s
}
