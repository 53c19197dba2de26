package node

import (
	"context"
	"errors"
	"score/channels/abi"
	"score/channels/dump"
	"score/tests/await"
	"testing"
	"time"
)

const maxTestDump = 64 << 20

func everyone(uint32) bool { return true }

// TestDump: contexts that nobody uses are copied at one instant; of one rank, if only that is
// wanted, and no more than is allowed.
func TestDump(t *testing.T) {
	c := newCluster(t, 2, Config{})
	zero := c.join(t, c.jobs, 0, 1)
	c.join(t, c.jobs, 0, 2)
	show(zero, abi.Sent, 10)
	all, err := c.jobs[0].Dump(t.Context(), everyone, maxTestDump, patience)
	if err != nil || len(all) != 2 || all[0].Moving || all[1].Moving || all[0].Channel != 1 || all[1].Channel != 2 || all[0].Pages.Bytes() == 0 {
		t.Fatalf("%+v, %v", all, err)
	}
	if none, err := c.jobs[0].Dump(t.Context(), func(rank uint32) bool { return rank == 1 }, maxTestDump, patience); err != nil || len(none) != 0 {
		t.Errorf("rank 1 is on the other node: %v, %v", none, err)
	}
	if _, err := c.jobs[0].Dump(t.Context(), everyone, abi.PageBytes, patience); !errors.Is(err, dump.ErrTooLarge) {
		t.Errorf("error %v", err)
	}
	if err := c.jobs[0].Remove(0); err != nil {
		t.Fatal(err)
	}
	if none, err := c.jobs[0].Dump(t.Context(), everyone, maxTestDump, patience); err != nil || len(none) != 0 {
		t.Errorf("the job is gone: %v, %v", none, err)
	}
}

// TestDumpOfWhatMoves: a context that never stands still is copied when the patience is over, and
// marked; the other one is not. A caller who has gone is not waited for.
func TestDumpOfWhatMoves(t *testing.T) {
	c := newCluster(t, 2, Config{})
	zero := c.join(t, c.jobs, 0, 1)
	c.join(t, c.jobs, 0, 2)
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
				zero.img.AddCounter(abi.Sent, 1)
			}
		}
	}()
	defer func() { close(stop); <-stopped }()
	await.That(t, "a copy in which only the first moves", func() bool {
		all, err := c.jobs[0].Dump(t.Context(), everyone, maxTestDump, time.Millisecond)
		if err != nil || len(all) != 2 {
			t.Fatalf("%+v, %v", all, err)
		}
		return all[0].Moving && !all[1].Moving
	})
	ctx, cancel := context.WithCancelCause(t.Context())
	gone := errors.New("gone")
	cancel(gone)
	await.That(t, "a try in which it moves", func() bool {
		_, err := c.jobs[0].Dump(ctx, everyone, maxTestDump, patience)
		return errors.Is(err, gone)
	})
}
