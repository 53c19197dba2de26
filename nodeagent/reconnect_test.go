package nodeagent_test

import (
	"context"
	"os"
	"path/filepath"
	"score/nodeagent/cgroup"
	"score/nodeagent/leadertest"
	"score/scored/api/agentpb"
	"score/tests/await"
	"strings"
	"testing"
	"time"
)

func TestNewStreamIsToldAgain(t *testing.T) {
	inBothModes(t, func(t *testing.T, n *node, s *leadertest.Session) {
		mustPrepare(t, s, n.order(1, "sh", "-c", "exit 4"))
		s.Send(planMessage(1, 1, time.Second, []uint64{1}))
		done(t, s, 1)
		s.Drop()
		s = n.leader.Next(t)
		if jobs := s.Hello.GetJobs(); len(jobs) != 1 || jobs[0] != 1 {
			t.Errorf("Hello names jobs %v", jobs)
		}
		prepared(t, s, 1)
		launched(t, s, 1)
		if _, exits := done(t, s, 1); len(exits) != 1 || exits[0].GetExitCode() != 4 {
			t.Errorf("exits: %v", exits)
		}
		s.Send(forgetMessage(1))
		mustPrepare(t, s, n.order(2, "true")) // so Forget has been read
		s.Drop()
		s = n.leader.Next(t)
		if jobs := s.Hello.GetJobs(); len(jobs) != 1 || jobs[0] != 2 {
			t.Errorf("Hello names jobs %v", jobs)
		}
		for _, m := range s.Passed() {
			if m.GetNodeDone() != nil {
				t.Errorf("told of a forgotten job: %v", m)
			}
		}
	})
}

func TestTimeSharingGoesOnWithoutLeader(t *testing.T) {
	leader := startLeader(t)
	n := startNode(t, leader)
	s := leader.Next(t)
	clocked(t, s)
	spinner(t, n, s, 1, 0)
	spinner(t, n, s, 2, 0)
	s.Send(planMessage(1, 1, 10*time.Millisecond, []uint64{1}, []uint64{2}))
	group := groupOf(t, int(launched(t, s, 1).GetPids()[0]))
	launched(t, s, 2)
	leader.Stop()
	<-s.Gone()
	seen := map[bool]int{}
	for limit := time.Now().Add(timeout); seen[true] < 5 || seen[false] < 5; {
		if time.Now().After(limit) {
			t.Fatalf("job stood still %d times of %d", seen[true], seen[true]+seen[false])
		}
		text, err := os.ReadFile(filepath.Join(group, "cgroup.freeze"))
		if err != nil {
			t.Fatal(err)
		}
		seen[text[0] == '1']++
		time.Sleep(7 * time.Millisecond)
	}
}

// groupOf finds the control group of a process.
func groupOf(t testing.TB, pid int) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("/proc", itoa(pid), "cgroup"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "0::"); ok {
			return filepath.Join(cgroup.Probe().Mount, name)
		}
	}
	t.Fatalf("process %d is in no control group", pid)
	return ""
}

func TestUnknownJobsAreEnded(t *testing.T) {
	keep := true
	leader := leadertest.Start(t, leadertest.Options{Now: clusterNow, Key: testKey, Keep: func(h *agentpb.Hello) []uint64 {
		if keep {
			return h.GetJobs()
		}
		return nil
	}})
	n := startNode(t, leader)
	s := leader.Next(t)
	clocked(t, s)
	mustRun(t, s, n.order(1, "sleep", "1000"))
	keep = false
	s.Drop()
	leader.Next(t)
	n.gone()
}

// A leader may order a job that is not committed yet, and be lost. The next one does not know the
// job and may give another its number at once: nothing of the first one runs, or is reported.
func TestNumberOfALostJobIsAnothersAtOnce(t *testing.T) {
	leader := leadertest.Start(t, leadertest.Options{Now: clusterNow, Key: testKey, Keep: func(*agentpb.Hello) []uint64 { return nil }})
	n := startNode(t, leader)
	s := leader.Next(t)
	clocked(t, s)
	dir := t.TempDir()
	for i := range 20 {
		s.Send(prepareMessage(n.order(1, "touch", filepath.Join(dir, "lost"))))
		if i%2 == 0 { // else the stream breaks while the job is prepared
			prepared(t, s, 1)
		}
		s.Drop()
		s = leader.Next(t)
		s.Send(prepareMessage(n.order(1, "sh", "-c", "exit 3")))
		prepared(t, s, 1)
		s.Send(planMessage(1, uint64(i+1), time.Second, []uint64{1}))
		if _, exits := done(t, s, 1); len(exits) != 1 || exits[0].GetExitCode() != 3 {
			t.Fatalf("exits: %v", exits)
		}
		s.Send(forgetMessage(1))
	}
	if _, err := os.Stat(filepath.Join(dir, "lost")); err == nil {
		t.Error("the lost job has run")
	}
}

// gone waits until no process of the node's jobs is left.
func (n *node) gone() {
	n.t.Helper()
	none := func() bool { return len(processesOf(n.options.RunDir)) == 0 }
	if err := await.Until(context.Background(), "no process is left", none); err != nil {
		n.t.Fatalf("%v; left: %v", err, processesOf(n.options.RunDir))
	}
}
