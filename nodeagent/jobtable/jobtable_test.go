package jobtable

import (
	"context"
	"testing"
)

type job struct {
	id      uint64
	attempt uint32
}

func (j *job) ID() uint64      { return j.id }
func (j *job) Attempt() uint32 { return j.attempt }

func TestTable(t *testing.T) {
	table := New[*job]()
	first := &job{id: 5, attempt: 1}
	second := &job{id: 5, attempt: 2}
	if table.Get(5) != nil || table.Forget(5) != nil || table.Count() != 0 {
		t.Fatal("not empty")
	}
	if !table.Add(first) || table.Add(second) {
		t.Error("one number, two jobs")
	}
	table.Add(&job{id: 2})
	if all := table.All(); len(all) != 2 || all[0].id != 2 || all[1] != first {
		t.Errorf("all: %v", all)
	}
	if table.Forget(5) != first || table.Get(5) != nil {
		t.Error("not forgotten")
	}
	if table.Await(t.Context(), 5, 1) != first {
		t.Error("a job that leaves still has output")
	}
	if !table.Add(second) || table.Await(t.Context(), 5, 2) != second || table.Await(t.Context(), 5, 1) != first {
		t.Error("each attempt has its own output")
	}
	table.Remove(first)
	table.Forget(5)
	table.Remove(second)
	if table.Count() != 1 || len(table.leaving) != 0 {
		t.Errorf("%d jobs, %d leaving", table.Count(), len(table.leaving))
	}
}

func TestAwaitWaits(t *testing.T) {
	table := New[*job]()
	found := make(chan *job)
	go func() { found <- table.Await(t.Context(), 7, 0) }()
	table.Add(&job{id: 6})
	want := &job{id: 7}
	table.Add(want)
	if got := <-found; got != want {
		t.Errorf("found %v", got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got := table.Await(ctx, 8, 0); got != nil {
		t.Errorf("found %v", got)
	}
}
