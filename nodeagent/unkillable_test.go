package nodeagent_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// unkillable makes a process one that no signal ends, as one that waits for a dead file system: it
// is frozen by a group of cgroup v1, whose processes die only when they are thawed.
func unkillable(t *testing.T, pid int) (thaw func()) {
	t.Helper()
	dir := filepath.Join("/sys/fs/cgroup/freezer", fmt.Sprintf("score-test-%d", os.Getpid()))
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Skip("no group of cgroup v1 can be made: ", err)
	}
	thaw = func() { write(t, filepath.Join(dir, "freezer.state"), "THAWED") }
	t.Cleanup(func() {
		thaw()
		for limit := time.Now().Add(timeout); os.Remove(dir) != nil; time.Sleep(time.Millisecond) {
			if time.Now().After(limit) {
				t.Errorf("%s is left", dir)
				return
			}
		}
	})
	write(t, filepath.Join(dir, "cgroup.procs"), strconv.Itoa(pid))
	write(t, filepath.Join(dir, "freezer.state"), "FROZEN")
	for limit := time.Now().Add(timeout); ; time.Sleep(time.Millisecond) {
		state, err := os.ReadFile(filepath.Join(dir, "freezer.state"))
		if err != nil || time.Now().After(limit) {
			t.Fatalf("it is %s: %v", state, err)
		}
		if strings.HasPrefix(string(state), "FROZEN") {
			return thaw
		}
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0); err != nil {
		t.Fatal(err)
	}
}

// A process of a job that the leader has forgotten and that nothing ends stops no new job of the
// node, and is told of.
func TestNewJobsBeginBesideAProcessThatDoesNotEnd(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for a bound of many seconds; run without -short")
	}
	t.Parallel()
	leader := startLeader(t)
	n := startNode(t, leader)
	s := leader.Next(t)
	clocked(t, s)
	thaw := unkillable(t, int(mustRun(t, s, n.order(1, "sleep", "1000")).GetPids()[0]))
	s.Send(forgetMessage(1))
	s.Send(prepareMessage(n.order(2, "true")))
	if p := prepared(t, s, 2); p.GetExitCode() != 0 {
		t.Fatalf("the next job: %v", p)
	}
	told := func(text string) bool { return strings.Contains(text, "jobs [1]") }
	for limit := time.Now().Add(timeout); !slices.ContainsFunc(s.Ping(t).GetTroubles(), told); {
		if time.Now().After(limit) {
			t.Fatal("no ping tells of the process")
		}
	}
	thaw()
	for limit := time.Now().Add(timeout); slices.ContainsFunc(s.Ping(t).GetTroubles(), told); {
		if time.Now().After(limit) {
			t.Fatal("pings tell of the process that has ended")
		}
	}
	s.Send(killMessage(2))
	done(t, s, 2)
	s.Send(forgetMessage(2))
	n.gone()
}
