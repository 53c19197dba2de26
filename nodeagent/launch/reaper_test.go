package launch

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestExitStatus(t *testing.T) {
	cases := map[string]struct {
		line, want string
	}{
		"success": {"exit 0", "exited with code 0"},
		"failure": {"exit 3", "exited with code 3"},
		"killed":  {"kill -9 $$", "was killed by signal 9 (SIGKILL)"},
		"segv":    {"ulimit -c 0; kill -SEGV $$", "was killed by signal 11 (SIGSEGV)"},
		"unnamed": {"kill -40 $$", "was killed by signal 40"},
	}
	b := newBench(t)
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			p, err := b.startOne(shell(t, 5, c.line, nil))
			if err != nil {
				t.Fatal(err)
			}
			e := b.exit(t)
			if e.ID != 5 || e.Pid != p.Pid {
				t.Errorf("exit of rank %d, process %d; started 5, %d", e.ID, e.Pid, p.Pid)
			}
			if e.Status.String() != c.want {
				t.Errorf("%v, want %s", e.Status, c.want)
			}
		})
	}
	if got := (ExitStatus{Signal: unix.SIGSEGV, CoreDumped: true}).String(); !strings.HasSuffix(got, ", core dumped") {
		t.Error(got)
	}
}

func TestUsage(t *testing.T) {
	b := newBench(t)
	if _, err := b.startOne(shell(t, 0, "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done", nil)); err != nil {
		t.Fatal(err)
	}
	u := b.exit(t).Usage
	if u.CPU() < time.Millisecond || u.CPU() > timeout {
		t.Errorf("CPU time %v", u.CPU())
	}
}

func TestEveryRankIsReportedOnce(t *testing.T) {
	const n = 100
	b := newBench(t)
	ranks := make([]Rank, n)
	for i := range ranks {
		ranks[i] = *shell(t, i, fmt.Sprintf("exit %d", i%100), nil)
	}
	started, err := b.StartAll(ranks)
	if err != nil || len(started) != n {
		t.Fatal(len(started), err)
	}
	seen := make(map[int]bool)
	for range n {
		e := b.exit(t)
		if seen[e.ID] || e.Status.Code != e.ID%100 || started[e.ID].Pid != e.Pid {
			t.Fatalf("%+v", e)
		}
		seen[e.ID] = true
	}
	for _, p := range started {
		if err := p.SignalGroup(unix.SIGKILL); !errors.Is(err, os.ErrProcessDone) {
			t.Fatalf("signal after the end: %v", err)
		}
	}
}

func TestSignal(t *testing.T) {
	b := newBench(t)
	p, err := b.startOne(shell(t, 0, "exec sleep 1000", nil))
	if err != nil {
		t.Fatal(err)
	}
	contains(t, p.SignalGroup(unix.Signal(200)), "signal 200 to the process group of rank 0")
	if err := p.SignalGroup(unix.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if e := b.exit(t); e.Status.Signal != unix.SIGTERM {
		t.Error(e.Status)
	}
	if err := p.SignalGroup(unix.SIGTERM); !errors.Is(err, os.ErrProcessDone) {
		t.Error(err)
	}
}

func TestReaperCloseLeavesRanksAlone(t *testing.T) {
	r := NewReaper(func(pidfd, pid int) error { return nil })
	f, err := NewForker(r)
	if err != nil {
		t.Fatal(err)
	}
	p, err := f.startOne(shell(t, 0, "exec sleep 1000", nil))
	if err != nil {
		t.Fatal(err)
	}
	if e, ended := r.Reap(p.Pid); ended {
		t.Errorf("the rank lives, and %+v was reported", e)
	}
	r.Close()
	if err := unix.Kill(p.Pid, 0); err != nil {
		t.Error(err)
	}
	if e, ended := r.Reap(p.Pid); ended {
		t.Errorf("%+v was reported after Close", e)
	}
	f.Close()
	if _, err := wait4(p.Pid, nil, 0, nil); err != nil {
		t.Error(err)
	}
}

// orphanEnv makes the test binary play a steward that adopts orphans; the role
// is the whole process's, so it cannot be played by the test itself.
const orphanEnv = "LAUNCH_TEST_ORPHANS"

func TestMain(m *testing.M) {
	if os.Getenv(oddEnv) != "" {
		os.Exit(oddLauncher())
	}
	if os.Getenv(orphanEnv) != "" {
		os.Exit(adoptingSteward())
	}
	os.Exit(m.Run())
}

// adoptingSteward starts ranks that leave orphans behind, and fails unless the
// ranks' codes and nothing else arrive and no child is left.
func adoptingSteward() int {
	exits := make(chan Exit, 100)
	w, err := newWatched()
	if err != nil {
		fmt.Println(err)
		return 1
	}
	r := NewReaper(w.watch)
	w.reap(r, func(e Exit) { exits <- e })
	err = r.AdoptOrphans()
	if err != nil {
		fmt.Println(err)
		return 1
	}
	f, err := NewForker(r)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	const n = 20
	for i := range n {
		// The grandchild outlives its parent, so it becomes this process's.
		line := fmt.Sprintf("(setsid sleep 0.02 &) ; exit %d", i)
		if _, err := f.startOne(&Rank{ID: i, Path: "/bin/sh", Argv: []string{"sh", "-c", line}, Stdout: 1, Stderr: 2}); err != nil {
			fmt.Println(err)
			return 1
		}
	}
	for range n {
		if e := <-exits; e.Status.Code != e.ID {
			fmt.Println("rank", e.ID, e.Status)
			return 1
		}
	}
	// Waiting without taking: the kernel says so when no child is left.
	for !errors.Is(unix.Waitid(unix.P_ALL, 0, nil, unix.WEXITED|unix.WNOWAIT, nil), unix.ECHILD) {
		runtime.Gosched()
	}
	f.Close()
	w.close()
	r.Close()
	return 0
}

func TestAdoptOrphans(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe")
	cmd.Env = append(os.Environ(), orphanEnv+"=1")
	timer := time.AfterFunc(timeout, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}
