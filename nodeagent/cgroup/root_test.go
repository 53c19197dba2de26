package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"
)

func fields(pids ...int) string {
	text := ""
	for _, p := range pids {
		text += fmt.Sprintln(p)
	}
	return text
}

func TestCreateTwice(t *testing.T) {
	r := testRoot(t)
	g, err := r.Create(3)
	if err != nil {
		t.Fatal(err)
	}
	if g.Dir() != filepath.Join(r.dir, "s-3") {
		t.Errorf("the group is %s", g.Dir())
	}
	if _, err := r.Create(3); !errors.Is(err, os.ErrExist) {
		t.Errorf("a second time: %v", err)
	}
	if _, err := r.Create(-1); !errors.Is(err, ErrName) {
		t.Errorf("slot -1: %v", err)
	}
	if _, err := r.Open(4); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("opening what is not there: %v", err)
	}
	if err := r.Remove(time.Now().Add(time.Minute)); err == nil {
		t.Error("the root was removed under a group")
	}
	if err := g.Close(soon()); err != nil {
		t.Fatal(err)
	}
	if slots, err := r.Slots(); err != nil || len(slots) != 0 {
		t.Errorf("slots %v, %v", slots, err)
	}
}

func TestSweepEndsWhatDeadDaemonsLeft(t *testing.T) {
	r := testRoot(t)
	for slot := range 3 {
		g, err := r.Create(slot)
		if err != nil {
			t.Fatal(err)
		}
		start(t, g, "sleep 1000 & exec sleep 1000")
		g.Release() // as the kernel does for a dead daemon
	}
	foreign := filepath.Join(r.dir, "not-ours")
	if err := os.Mkdir(foreign, 0o755); err != nil {
		t.Fatal(err)
	}
	n, err := r.Sweep(soon(), func(slot int) bool { return slot == 1 })
	if n != 2 || err != nil {
		t.Errorf("%d removed, %v", n, err)
	}
	if slots, err := r.Slots(); err != nil || !slices.Equal(slots, []int{1}) {
		t.Errorf("slots %v, %v", slots, err)
	}
	kept, err := r.Open(1)
	if err != nil {
		t.Fatal(err)
	}
	defer kept.Release()
	if pids, err := kept.Pids(nil); err != nil || len(pids) == 0 {
		t.Errorf("the kept job has processes %v, %v", pids, err)
	}
	if err := os.Remove(foreign); err != nil {
		t.Errorf("a group that is not ours: %v", err)
	}
}

// Stewards whose agent was killed remove their groups while others sweep.
func TestSweepsAtOnce(t *testing.T) {
	r := testRoot(t)
	for range 5 {
		for slot := range 10 {
			g, err := r.Create(slot)
			if err != nil {
				t.Fatal(err)
			}
			start(t, g, "exec sleep 1000")
			g.Release()
		}
		var sweeps sync.WaitGroup
		for range 4 {
			sweeps.Go(func() {
				if _, err := r.Sweep(soon(), nil); err != nil {
					t.Error(err)
				}
			})
		}
		sweeps.Wait()
		if slots, err := r.Slots(); err != nil || len(slots) != 0 {
			t.Errorf("slots %v, %v", slots, err)
		}
	}
}

// A steward that no agent has spoken to is in its slot's memory group only.
func TestSweepEndsWhoIsOnlyCharged(t *testing.T) {
	r := testRoot(t)
	if r.memDir == "" {
		t.Skip("nobody is charged alone without a v1 memory hierarchy")
	}
	g, err := r.Create(0)
	if err != nil {
		t.Fatal(err)
	}
	g.Release()
	waits := run(t, exec.Command("sleep", "1000"))
	if err := writeFile(g.MemoryDir(), "tasks", fmt.Sprint(waits.Process.Pid)); err != nil {
		t.Fatal(err)
	}
	if n, err := r.Sweep(soon(), nil); n != 1 || err != nil {
		t.Errorf("%d removed, %v", n, err)
	}
}

// A steward that starts while its agent's groups are swept away makes none.
func TestFindRootMakesNothing(t *testing.T) {
	r := testRoot(t)
	name := filepath.Base(r.dir)
	node := name[len("score.cgroup-test."):]
	if found, err := FindRoot("cgroup-test", node); err != nil || found.dir != r.dir || found.Memory() != r.Memory() {
		t.Errorf("%+v, %v", found, err)
	}
	if _, err := FindRoot("cgroup-test", node+"-none"); !errors.Is(err, ErrUnusable) {
		t.Errorf("a root that is not there: %v", err)
	}
	if _, err := os.Stat(r.dir + "-none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it was made: %v", err)
	}
}

// Whoever finds that another was quicker removes what is left of a group.
func TestCloseOfAVanishedGroup(t *testing.T) {
	r := testRoot(t)
	g, err := r.Create(0)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(g.Dir()); err != nil {
		t.Fatal(err)
	}
	if err := g.Close(soon()); err != nil {
		t.Error(err)
	}
	if slots, err := r.Slots(); err != nil || len(slots) != 0 {
		t.Errorf("slots %v, %v", slots, err)
	}
}

// A daemon that died between two steps leaves one half of a slot.
func TestSweepOfPartialSlots(t *testing.T) {
	r := testRoot(t)
	if r.memDir == "" {
		t.Skip("there is only one half without a v1 memory hierarchy")
	}
	for _, half := range []string{filepath.Join(r.dir, "s-1"), filepath.Join(r.memDir, "s-2")} {
		if err := os.Mkdir(half, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := r.Sweep(soon(), nil); n != 2 || err != nil {
		t.Errorf("%d removed, %v", n, err)
	}
	if slots, err := r.Slots(); err != nil || len(slots) != 0 {
		t.Errorf("slots %v, %v", slots, err)
	}
}

// The last steward of a dead agent removes the node's group when the next agent has just found it.
func TestCreateInAVanishedRoot(t *testing.T) {
	r := testRoot(t)
	if err := r.Remove(soon()); err != nil {
		t.Fatal(err)
	}
	if slots, err := r.Slots(); err != nil || len(slots) != 0 {
		t.Errorf("slots %v, %v", slots, err)
	}
	g, err := r.Create(1)
	if err != nil {
		t.Fatal(err)
	}
	if r.memory != MemoryNone {
		if err := g.LimitMemory(64 << 20); err != nil {
			t.Error(err)
		}
	}
	if err := g.LimitProcesses(10); err != nil && !errors.Is(err, ErrNoPidsControl) {
		t.Error(err)
	}
	if err := g.Close(soon()); err != nil {
		t.Error(err)
	}
}

func TestOpenRootTakesAFormerOne(t *testing.T) {
	r := testRoot(t)
	name := filepath.Base(r.dir)
	node := name[len("score.cgroup-test."):]
	again, err := OpenRoot("cgroup-test", node)
	if err != nil || again.dir != r.dir || again.Memory() != r.Memory() {
		t.Errorf("%+v, %v", again, err)
	}
	if _, err := OpenRoot("a/b", "n"); !errors.Is(err, ErrName) {
		t.Error(err)
	}
}
