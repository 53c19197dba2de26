package nodeagent_test

import (
	"fmt"
	"os"
	"path/filepath"
	"score/nodeagent/leadertest"
	"score/tests/await"
	"slices"
	"strconv"
	"strings"
	"testing"
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
		await.That(t, dir+" is removed", func() bool { return os.Remove(dir) == nil })
	})
	write(t, filepath.Join(dir, "cgroup.procs"), strconv.Itoa(pid))
	write(t, filepath.Join(dir, "freezer.state"), "FROZEN")
	await.That(t, "the process is frozen", func() bool {
		state, err := os.ReadFile(filepath.Join(dir, "freezer.state"))
		if err != nil {
			t.Fatal(err)
		}
		return strings.HasPrefix(string(state), "FROZEN")
	})
	return thaw
}

// reports reports whether the agent's next ping has a trouble with such a text.
func reports(t *testing.T, s *leadertest.Session, text string) bool {
	return slices.ContainsFunc(s.Ping(t).GetTroubles(), func(trouble string) bool { return strings.Contains(trouble, text) })
}

func awaitTrouble(t *testing.T, s *leadertest.Session, text string) {
	t.Helper()
	await.That(t, "a ping reports "+text, func() bool { return reports(t, s, text) })
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
	awaitTrouble(t, s, "jobs [1]")
	thaw()
	await.That(t, "the process is reported no more", func() bool { return !reports(t, s, "jobs [1]") })
	s.Send(killMessage(2))
	done(t, s, 2)
	s.Send(forgetMessage(2))
	n.gone()
}
