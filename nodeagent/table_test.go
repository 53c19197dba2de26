package nodeagent

import (
	"context"
	"testing"

	"score/scored/api/scorev1"
)

func TestTable(t *testing.T) {
	table := newTable()
	first := &job{id: 5, order: &scorev1.Prepare{Attempt: 1}}
	second := &job{id: 5, order: &scorev1.Prepare{Attempt: 2}}
	if table.get(5) != nil || table.forget(5) != nil || table.count() != 0 {
		t.Fatal("not empty")
	}
	if !table.add(first) || table.add(second) {
		t.Error("one number, two jobs")
	}
	table.add(&job{id: 2, order: &scorev1.Prepare{}})
	if all := table.all(); len(all) != 2 || all[0].id != 2 || all[1] != first {
		t.Errorf("all: %v", all)
	}
	if table.forget(5) != first || table.get(5) != nil {
		t.Error("not forgotten")
	}
	if table.await(t.Context(), 5, 1) != first {
		t.Error("a job that leaves still has output")
	}
	if !table.add(second) || table.await(t.Context(), 5, 2) != second || table.await(t.Context(), 5, 1) != first {
		t.Error("each attempt has its own output")
	}
	table.left(first)
	table.forget(5)
	table.left(second)
	if table.count() != 1 || len(table.leaving) != 0 {
		t.Errorf("%d jobs, %d leaving", table.count(), len(table.leaving))
	}
}

func TestAwaitWaits(t *testing.T) {
	table := newTable()
	found := make(chan *job)
	go func() { found <- table.await(t.Context(), 7, 0) }()
	table.add(&job{id: 6, order: &scorev1.Prepare{}})
	want := &job{id: 7, order: &scorev1.Prepare{}}
	table.add(want)
	if got := <-found; got != want {
		t.Errorf("found %v", got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got := table.await(ctx, 8, 0); got != nil {
		t.Errorf("found %v", got)
	}
}
