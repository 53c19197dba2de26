package cgroup

import (
	"score/nodeagent/realtime"
	"testing"

	"golang.org/x/sys/unix"
)

// Threads that stand still here have been hurried: they come before those of ordinary programs.
func TestHurry(t *testing.T) {
	g := testGroup(t)
	start(t, g, "("+spin+") & "+spin)
	reaches(t, "two processes", func() bool { pids, err := g.Pids(nil); return err == nil && len(pids) == 2 })
	if err := g.Freeze(); err != nil {
		t.Fatal(err)
	}
	if err := g.WaitFrozen(soon()); err != nil {
		t.Fatal(err)
	}
	g.hurry()
	pids, err := g.Pids(nil)
	if err != nil || len(pids) != 2 {
		t.Fatalf("%v, %v", pids, err)
	}
	for _, pid := range pids {
		attr, err := unix.SchedGetAttr(pid, 0)
		if err != nil || attr.Policy != unix.SCHED_FIFO || attr.Priority != realtime.DyingPriority {
			t.Errorf("process %d: %+v, %v", pid, attr, err)
		}
	}
	g.calm()
	for _, pid := range pids {
		if attr, err := unix.SchedGetAttr(pid, 0); err != nil || attr.Policy != unix.SCHED_NORMAL {
			t.Errorf("process %d, which is hurried no more: %+v, %v", pid, attr, err)
		}
	}
}
