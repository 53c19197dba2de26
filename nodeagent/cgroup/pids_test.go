package cgroup

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A group has so many processes and no more, and others when the limit is lifted.
func TestProcessLimit(t *testing.T) {
	g := testGroup(t)
	join := joinGroup(g)
	if !g.pidsV2 && g.pidsDir == "" {
		if err := g.LimitProcesses(10); !errors.Is(err, ErrNoPidsControl) {
			t.Error(err)
		}
		t.Skip("no controller of process numbers here")
	}
	// A shell ends at the first fork that fails.
	const forks = `i=0; while [ $i -lt 40 ]; do sleep 1000 & i=$((i+1)); done; echo all >`
	try := func() (all bool) {
		out := filepath.Join(t.TempDir(), "out")
		shell := start(t, g, join+forks+out)
		_ = shell.Wait() // how it ended is in the file
		if err := g.Kill(soon()); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(out)
		return err == nil && strings.TrimSpace(string(text)) == "all"
	}
	if err := g.LimitProcesses(20); err != nil {
		t.Fatal(err)
	}
	if try() {
		t.Error("40 processes were started where 20 are the most")
	}
	// A group that was killed takes no processes any more.
	g, join = createGroup(t, testRoot(t), 1)
	for _, maxProcesses := range []uint32{20, 0} {
		if err := g.LimitProcesses(maxProcesses); err != nil {
			t.Fatal(err)
		}
	}
	shell := start(t, g, join+strings.TrimSuffix(forks, " echo all >")+" wait")
	reaches(t, "41 processes without a limit", func() bool { return processes(t, g) >= 41 })
	if err := g.Kill(soon()); err != nil {
		t.Fatal(err)
	}
	_ = shell.Wait() // killed
}

// createGroup makes a slot's group until the test ends, with what a shell does first to be counted
// there.
func createGroup(t *testing.T, r *Root, slot int) (g *Group, join string) {
	t.Helper()
	g, err := r.Create(slot)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.Close(soon()); err != nil {
			t.Error(err)
		}
	})
	return g, joinGroup(g)
}

func joinGroup(g *Group) string {
	if g.pidsDir == "" {
		return ""
	}
	return "echo 0 > " + filepath.Join(g.pidsDir, "tasks") + " && "
}

// All groups of a node together have so many processes and no more, also after the node's group was
// made again.
func TestProcessLimitOfTheNode(t *testing.T) {
	r := testRoot(t)
	const most = 30
	if err := r.LimitProcesses(most); errors.Is(err, ErrNoPidsControl) {
		t.Skip("no controller of process numbers here")
	} else if err != nil {
		t.Fatal(err)
	}
	if err := r.Remove(soon()); err != nil {
		t.Fatal(err)
	}
	const forks = "i=0; while [ $i -lt 20 ]; do sleep 1000 & i=$((i+1)); done; "
	first, join := createGroup(t, r, 0)
	start(t, first, join+forks+"wait")
	reaches(t, "the first group has 21 processes", func() bool { return processes(t, first) == 21 })
	second, join := createGroup(t, r, 1)
	out := filepath.Join(t.TempDir(), "out")
	_ = start(t, second, join+forks+"echo all >"+out).Wait() // a shell ends at the first fork that fails
	if _, err := os.Stat(out); err == nil {
		t.Errorf("the node has %d processes", processes(t, first)+processes(t, second))
	}
}
