package procgroup

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"score/channels/procstat"
	"score/nodeagent/cgroup"
	"score/tests/child"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

const (
	timeout = 60 * time.Second
	spin    = "while :; do :; done"
	// stewardEnv makes the test binary play a steward: it adopts orphans, runs
	// the line of shell in the variable as a rank, and waits for all children.
	stewardEnv = "PROCGROUP_TEST_LINE"
)

func soon() time.Time { return time.Now().Add(timeout) }

func TestMain(m *testing.M) {
	if line := os.Getenv(stewardEnv); line != "" {
		os.Exit(playSteward(line))
	}
	os.Exit(m.Run())
}

func playSteward(line string) int {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		fmt.Println(err)
		return 1
	}
	rank := exec.Command("/bin/sh", "-c", line)
	rank.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := rank.Start(); err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println(rank.Process.Pid)
	for {
		if _, err := unix.Wait4(-1, nil, 0, nil); errors.Is(err, unix.ECHILD) {
			return 0
		}
	}
}

// job starts a steward with one rank and gives its container.
func job(t *testing.T, line string) (g *Group, rank int, steward *exec.Cmd) {
	t.Helper()
	steward = exec.Command("/proc/self/exe")
	steward.Env = append(os.Environ(), stewardEnv+"="+line)
	steward.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	rank, err := strconv.Atoi(child.Start(t, steward).Line(t))
	if err != nil {
		t.Fatal(err)
	}
	g = New(steward.Process.Pid)
	g.Started(rank, rank)
	t.Cleanup(func() {
		if err := g.Close(soon()); err != nil {
			t.Error(err)
		}
	})
	return g, rank, steward
}

func reaches(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := soon(); !ok(); {
		if time.Now().After(end) {
			t.Fatal("never: ", what)
		}
		time.Sleep(100 * time.Microsecond)
	}
}

func count(t *testing.T, g *Group) int {
	t.Helper()
	pids, err := g.Pids(nil)
	if err != nil {
		t.Fatal(err)
	}
	return len(pids)
}

func state(pid int) byte {
	s, err := procstat.Read(pid)
	if err != nil {
		return 0
	}
	return s.State
}

func TestFreezeAndThaw(t *testing.T) {
	g, rank, _ := job(t, "("+spin+") & "+spin)
	reaches(t, "two processes", func() bool { return count(t, g) == 2 })
	pids, err := g.Pids(nil)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := g.Freeze(); err != nil {
			t.Fatal(err)
		}
		if err := g.WaitFrozen(soon()); err != nil {
			t.Fatal(err)
		}
		if s := state(rank); s != 'T' {
			t.Fatalf("the rank's state is %c", s)
		}
		for _, pid := range pids {
			reaches(t, "all of the group stop", func() bool { return state(pid) == 'T' })
		}
		if err := g.Thaw(); err != nil {
			t.Fatal(err)
		}
		reaches(t, "the rank runs again", func() bool { return state(rank) == 'R' })
	}
}

func TestWaitFrozenKeepsItsDeadline(t *testing.T) {
	g, _, _ := job(t, spin)
	begin := time.Now()
	err := g.WaitFrozen(begin.Add(3 * time.Millisecond))
	if !errors.Is(err, cgroup.ErrNotFrozen) || time.Since(begin) < 3*time.Millisecond {
		t.Errorf("%v after %v", err, time.Since(begin))
	}
	if err := New(os.Getpid()).WaitFrozen(begin); err != nil {
		t.Errorf("a job without ranks: %v", err)
	}
}

func TestSwitchAllocatesNothing(t *testing.T) {
	g, _, _ := job(t, spin)
	if n := testing.AllocsPerRun(20, func() {
		if g.Freeze() != nil || g.WaitFrozen(time.Now().Add(timeout)) != nil || g.Thaw() != nil {
			t.Error("a switch failed")
		}
	}); n != 0 {
		t.Errorf("%v allocations in a switch", n)
	}
}

// The processes hide from the group by setsid, and from descent by losing their
// parent; both at once needs the steward's adoption.
func TestKillFindsAll(t *testing.T) {
	lines := map[string]string{
		"own session":       "setsid sleep 1000 & exec sleep 1000",
		"orphan":            "(sleep 1000 &) ; exec sleep 1000",
		"orphan in session": "(setsid sleep 1000 &) ; exec sleep 1000",
	}
	for name, line := range lines {
		t.Run(name, func(t *testing.T) {
			g, _, steward := job(t, line)
			reaches(t, "two sleeping processes", func() bool { return sleepers(t, g) == 2 })
			if err := g.Kill(soon()); err != nil {
				t.Fatal(err)
			}
			if n := count(t, g); n != 0 {
				t.Errorf("%d processes are left", n)
			}
			// No child is left at all: the steward ends by itself.
			if err := steward.Wait(); err != nil {
				t.Error(err)
			}
		})
	}
}

// sleepers counts the job's processes that run sleep.
func sleepers(t *testing.T, g *Group) int {
	t.Helper()
	pids, err := g.Pids(nil)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, pid := range pids {
		if name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid)); err == nil && string(name) == "sleep\n" {
			n++
		}
	}
	return n
}

func TestKillFrozen(t *testing.T) {
	g, _, _ := job(t, "exec sleep 1000")
	if err := g.Freeze(); err != nil {
		t.Fatal(err)
	}
	if err := g.Kill(soon()); err != nil {
		t.Fatal(err)
	}
}

func TestKillOfAJobThatKeepsForking(t *testing.T) {
	g, _, _ := job(t, "while :; do (setsid /bin/true &) ; done")
	reaches(t, "it forks", func() bool { return count(t, g) > 0 })
	if err := g.Kill(soon()); err != nil {
		t.Fatal(err)
	}
	if n := count(t, g); n != 0 {
		t.Errorf("%d processes are left", n)
	}
}

func TestKillTellsWhoIsLeft(t *testing.T) {
	g, rank, _ := job(t, "exec sleep 1000")
	err := g.Kill(time.Time{})
	if !errors.Is(err, cgroup.ErrNotEmpty) || !strings.Contains(err.Error(), strconv.Itoa(rank)) {
		t.Error(err)
	}
}

// After a rank was reaped its number may be another process's: no signal goes there.
func TestReapedRanksAreForgotten(t *testing.T) {
	g, rank, steward := job(t, "exec sleep 0.01")
	if err := steward.Wait(); err != nil {
		t.Fatal(err)
	}
	for _, step := range []func() error{g.Freeze, g.Thaw, func() error { return g.WaitFrozen(time.Time{}) }} {
		if err := step(); err != nil {
			t.Error(err)
		}
	}
	if len(g.ranks) != 0 {
		t.Errorf("still known: %+v", g.ranks)
	}
	g.Started(rank, rank)
	if len(g.ranks) != 0 {
		t.Error("a rank that is gone was added")
	}
}

func TestCPUTimeOutlivesTheRank(t *testing.T) {
	g, rank, steward := job(t, "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done; exec sleep 1000")
	reaches(t, "some ticks are used", func() bool {
		used, err := g.CPUTime()
		return err == nil && used >= 3*procstat.Tick
	})
	used, err := g.CPUTime()
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Kill(rank, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := steward.Wait(); err != nil {
		t.Fatal(err)
	}
	if after, err := g.CPUTime(); err != nil || after < used {
		t.Errorf("%v before, %v after the end, %v", used, after, err)
	}
	if g.FD() != -1 {
		t.Error("there is nothing to be born into")
	}
}
