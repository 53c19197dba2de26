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
	join := ""
	if g.pidsDir != "" {
		join = "echo 0 > " + filepath.Join(g.pidsDir, "tasks") + " && "
	}
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
	g, err := testRoot(t).Create(1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.Close(soon()); err != nil {
			t.Error(err)
		}
	})
	if g.pidsDir != "" {
		join = "echo 0 > " + filepath.Join(g.pidsDir, "tasks") + " && "
	}
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
