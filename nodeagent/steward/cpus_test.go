package steward_test

import (
	"errors"
	"os"
	"path/filepath"
	"score/nodeagent/steward/client"
	"score/tests/socketdir"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"
)

// allowed is where this thread may run.
func allowed(t *testing.T) (set unix.CPUSet) {
	t.Helper()
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		t.Fatal(err)
	}
	return set
}

// All threads of a steward keep to the CPUs it is given, and the process that starts it does not.
func TestAStewardKeepsToItsCPUs(t *testing.T) {
	before := allowed(t)
	first := 0
	for !before.IsSet(first) {
		first++
	}
	var want unix.CPUSet
	want.Set(first)
	a := start(t, func(a *agent) { a.slot.CPUs = []int{first} })
	threads, err := os.ReadDir(filepath.Join("/proc", strconv.Itoa(a.process.Pid), "task"))
	if err != nil || len(threads) < 2 {
		t.Fatal(threads, err)
	}
	for _, thread := range threads {
		id, err := strconv.Atoi(thread.Name())
		if err != nil {
			t.Fatal(err)
		}
		var got unix.CPUSet
		if err := unix.SchedGetaffinity(id, &got); errors.Is(err, unix.ESRCH) {
			continue // it has just ended
		} else if err != nil || got != want {
			t.Errorf("a thread may run on %d CPUs, not on CPU %d alone: %v", got.Count(), first, err)
		}
	}
	if allowed(t) != before {
		t.Error("who starts a steward keeps to its CPUs, too")
	}
}

// A CPU that is not there is an error, and nothing is left.
func TestAStewardOnNoCPU(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	slot := client.Slot{Exe: exe, RunDir: socketdir.Make(t), CPUs: []int{len(unix.CPUSet{})*64 - 1}}
	if p, err := client.Start(slot); err == nil {
		p.Kill()
		t.Error("it was started")
	}
	if _, err := os.Lstat(client.Socket(slot.RunDir, slot.Number)); !os.IsNotExist(err) {
		t.Errorf("its socket is left: %v", err)
	}
}
