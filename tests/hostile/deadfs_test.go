package hostile

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"score/scored/api/scorev1"
	"score/tests/daemons"
	"score/tests/daemons/daemonstest"
	"score/tests/deadfs"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A file system that does not answer, as that of a dead file server, keeps the jobs of those who
// use it from starting, and nobody else's: also the agent can be ended and started again, which
// nobody could if a thread of it waited there.
func TestDeadFileSystem(t *testing.T) {
	s := &scene{daemonstest.NewScene(t, daemons.Options{Bin: bin, Nodes: 1, Grace: time.Second})}
	dir := filepath.Join(s.Dir, "dead")
	s.Check(os.Mkdir(dir, 0o777))
	s.Check(os.Chmod(dir, 0o777)) //nolint:gosec // it is the file system of all users
	command := func(arguments ...string) {
		t.Helper()
		if out, err := s.Command(s.Ctx, s.Socket(), arguments...); err != nil {
			t.Fatal(out, err)
		}
	}
	program := copyOf(t, filepath.Join(bin, "scrun"), s.Dir)
	// The jobs are submitted while the file system lives, and wait for the node.
	command("node", "drain", "n1", "--reason", "test")
	var jobs []uint64
	// The node looks at the directory if files go along, and opens files in it.
	for _, options := range [][]string{{"--stage=program"}, {"-i", "in"}} {
		scrun := exec.CommandContext(s.Ctx, program, append(options, "-d", "-o", os.DevNull, "/bin/true")...)
		scrun.Dir, scrun.Env = dir, append(os.Environ(), "SCORE_SOCKET="+s.Socket(), "HOME=/")
		scrun.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: eve, Gid: eve}}
		out, err := scrun.CombinedOutput()
		var id uint64
		if _, scanned := fmt.Sscan(string(out), &id); err != nil || scanned != nil {
			t.Fatalf("%v: %v: %s", options, err, out)
		}
		jobs = append(jobs, id)
	}
	revive := deadfs.Dir(t, dir)
	command("node", "resume", "n1")
	for _, id := range jobs {
		daemonstest.AwaitJob(t, s.Cluster, id, "starts", func(j *scorev1.Job) bool { return j.GetState() == scorev1.JobState_JOB_STATE_STARTING })
	}
	s.Await("the stewards wait for the file system", func() bool { return waitingForDead(s.Of(daemons.RoleSteward, "n1")) == len(jobs) })
	if n := waitingForDead(s.Of(daemons.RoleAgent, "n1")); n > 0 {
		t.Errorf("%d threads of the agent wait for the file system", n)
	}
	othersRun := func(when string) {
		t.Helper()
		if took := time.Duration(start(t, s.Cluster, ada, "one").number()) * time.Millisecond; took > served {
			t.Errorf("%s another's job took %v", when, took)
		}
	}
	othersRun("beside the jobs that wait,")
	s.Agents[0].Kill()
	s.Check(s.Agents[0].Start())
	s.Check(s.AwaitUp(s.Ctx))
	othersRun("after a restart of the agent,")
	for _, id := range jobs {
		s.Cancel(id)
	}
	othersRun("after the jobs' end,")
	revive()
	s.End()
}

// waitingForDead counts the threads of the processes that wait for an answer of a file system.
func waitingForDead(processes []daemons.Process) (n int) {
	for _, p := range processes {
		threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/wchan", p.PID))
		for _, thread := range threads {
			if at, err := os.ReadFile(thread); err == nil && strings.Contains(string(at), "request_wait_answer") {
				n++
			}
		}
	}
	return n
}
