package cgroup

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"score/channels/procstat"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// For how long a group is watched, and what it may use of it and still stand
// still: the kernel calls a process frozen some microseconds before it leaves the
// CPU, and on a busy machine these may come later.
const (
	watched    = 30 * time.Millisecond
	standstill = time.Millisecond
)

// runs reports whether the group uses CPU time now.
func runs(t *testing.T, g *Group) bool {
	t.Helper()
	before, err := g.CPUTime()
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(watched)
	now, err := g.CPUTime()
	if err != nil {
		t.Fatal(err)
	}
	return now-before > standstill
}

func TestFreezeAndThaw(t *testing.T) {
	g := testGroup(t)
	start(t, g, spin)
	start(t, g, "("+spin+") & "+spin)
	reaches(t, "three processes", func() bool { pids, err := g.Pids(nil); return err == nil && len(pids) == 3 })
	for range 3 {
		if err := g.Freeze(); err != nil {
			t.Fatal(err)
		}
		if err := g.WaitFrozen(soon()); err != nil {
			t.Fatal(err)
		}
		if runs(t, g) {
			t.Fatal("the group runs although it is frozen")
		}
		if err := g.Thaw(); err != nil {
			t.Fatal(err)
		}
		reaches(t, "the group runs again", func() bool { return runs(t, g) })
	}
}

func TestWaitFrozenKeepsItsDeadline(t *testing.T) {
	g := testGroup(t)
	begin := time.Now()
	err := g.WaitFrozen(begin.Add(3 * time.Millisecond))
	if !errors.Is(err, ErrNotFrozen) || time.Since(begin) < 3*time.Millisecond {
		t.Errorf("%v after %v", err, time.Since(begin))
	}
	if err := g.WaitFrozen(begin); !errors.Is(err, ErrNotFrozen) {
		t.Errorf("a deadline in the past: %v", err)
	}
	if err := g.Freeze(); err != nil {
		t.Fatal(err)
	}
	if err := g.WaitFrozen(soon()); err != nil {
		t.Errorf("an empty group: %v", err)
	}
	if err := g.WaitFrozen(begin); err != nil {
		t.Errorf("already frozen, deadline in the past: %v", err)
	}
}

func TestSwitchAllocatesNothing(t *testing.T) {
	g := testGroup(t)
	start(t, g, spin)
	if n := testing.AllocsPerRun(20, func() {
		deadline := time.Now().Add(timeout)
		if g.Freeze() != nil || g.WaitFrozen(deadline) != nil || g.Thaw() != nil {
			t.Error("a switch failed")
		}
	}); n != 0 {
		t.Errorf("%v allocations in a switch", n)
	}
}

func TestKill(t *testing.T) {
	for _, frozen := range []bool{false, true} {
		g := testGroup(t)
		cmd := start(t, g, "setsid sleep 1000 & (sleep 1000 & exec sleep 1000) & exec sleep 1000")
		reaches(t, "four processes", func() bool { pids, err := g.Pids(nil); return err == nil && len(pids) >= 4 })
		if frozen {
			if err := g.Freeze(); err != nil {
				t.Fatal(err)
			}
			if err := g.WaitFrozen(soon()); err != nil {
				t.Fatal(err)
			}
		}
		if err := g.Kill(soon()); err != nil {
			t.Fatal(err)
		}
		if pids, err := g.Pids(nil); err != nil || len(pids) != 0 {
			t.Errorf("frozen %v: %v are left, %v", frozen, pids, err)
		}
		if err := g.Kill(soon()); err != nil {
			t.Errorf("an empty group: %v", err)
		}
		var ended *exec.ExitError
		if err := cmd.Wait(); !errors.As(err, &ended) || ended.Sys().(syscall.WaitStatus).Signal() != unix.SIGKILL {
			t.Errorf("the first process: %v", err)
		}
	}
}

func TestKillTellsWhoIsLeft(t *testing.T) {
	g := testGroup(t)
	start(t, g, "exec sleep 1000")
	// The deadline has passed before the kernel can be done.
	if err := g.Kill(time.Time{}); err != nil && (!errors.Is(err, ErrNotEmpty) || !strings.Contains(err.Error(), "[")) {
		t.Error(err)
	}
}

// A kernel before 5.14 has no cgroup.kill; its other files are played here.
func TestKillWithoutCgroupKill(t *testing.T) {
	dir := t.TempDir()
	cmd := run(t, exec.Command("sleep", "1000"))
	procs := fields(cmd.Process.Pid)
	fakeFile(t, dir, "cgroup.procs", procs)
	fakeFile(t, dir, "cgroup.freeze", "")
	g := &Group{dir: dir}
	if err := g.sendKill(); err != nil {
		t.Fatal(err)
	}
	var ended *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &ended) {
		t.Error(err)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "cgroup.freeze")); err != nil || string(text) != "1" {
		t.Errorf("frozen before: %q, %v", text, err)
	}
	fakeFile(t, dir, "cgroup.procs", "x\n")
	if err := g.sendKill(); err == nil {
		t.Error("nonsense in cgroup.procs passes")
	}
}

// A process that left the group after the list was read is not killed: its number may be another's.
func TestKillSparesWhoIsNoMember(t *testing.T) {
	dir := t.TempDir()
	member, other := run(t, exec.Command("sleep", "1000")), run(t, exec.Command("sleep", "1000"))
	fakeFile(t, dir, "cgroup.procs", fields(member.Process.Pid))
	if err := killIfMembers(dir, []int{other.Process.Pid, member.Process.Pid}); err != nil {
		t.Fatal(err)
	}
	var ended *exec.ExitError
	if err := member.Wait(); !errors.As(err, &ended) {
		t.Error(err)
	}
	if s, err := procstat.Read(other.Process.Pid); err != nil || s.Exited() {
		t.Errorf("who is no member: %+v, %v", s, err)
	}
	if err := killIfMembers(dir, []int{member.Process.Pid}); err != nil {
		t.Errorf("a process that is gone: %v", err)
	}
}

func TestCloseRemovesGroupsBelow(t *testing.T) {
	g := testGroup(t)
	if err := os.MkdirAll(filepath.Join(g.Dir(), "own", "deeper"), 0o755); err != nil {
		t.Fatal(err)
	}
	start(t, g, "echo $$ > "+filepath.Join(g.Dir(), "own/deeper/cgroup.procs")+"; exec sleep 1000")
	reaches(t, "the process is below", func() bool {
		text, err := os.ReadFile(filepath.Join(g.Dir(), "own/deeper/cgroup.procs"))
		return err == nil && len(text) > 0
	})
	if err := g.Close(soon()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(g.Dir()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("after Close: %v", err)
	}
	if err := g.Close(soon()); err != nil {
		t.Errorf("a second Close: %v", err)
	}
	if err := g.Freeze(); err == nil {
		t.Error("Freeze after Close succeeds")
	}
}

func TestCPUTimeCountsEndedProcesses(t *testing.T) {
	g := testGroup(t)
	cmd := start(t, g, "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done")
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	// The kernel folds per-CPU counts in when asked, exact to its last tick.
	got, err := g.CPUTime()
	used := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	if err != nil || got < used/2 || got > 2*used+10*time.Millisecond {
		t.Errorf("%v by the group, %v by the process, %v", got, used, err)
	}
}

func TestReleaseLeavesTheJobAlone(t *testing.T) {
	r := testRoot(t)
	g, err := r.Create(7)
	if err != nil {
		t.Fatal(err)
	}
	cmd := start(t, g, "exec sleep 1000")
	g.Release()
	g.Release()
	again, err := r.Open(7)
	if err != nil {
		t.Fatal(err)
	}
	if pids, err := again.Pids(nil); err != nil || !slices.Equal(pids, []int{cmd.Process.Pid}) {
		t.Errorf("%v, %v", pids, err)
	}
	if err := again.Close(soon()); err != nil {
		t.Error(err)
	}
}

// With v1 the limit holds for what a thread in MemoryDir starts; the shell moves
// itself, being its only thread.
func TestMemoryLimit(t *testing.T) {
	g := testGroup(t)
	join := "echo 0 > " + filepath.Join(g.MemoryDir(), "tasks") + " && "
	switch g.memory {
	case MemoryNone:
		if err := g.LimitMemory(1 << 30); !errors.Is(err, ErrNoMemoryControl) {
			t.Error(err)
		}
		t.Skip("no memory controller here")
	case MemoryV2:
		join = ""
	case MemoryV1:
	}
	if err := g.LimitMemory(MinMemoryLimit - 1); err == nil {
		t.Error("a limit below the least passes")
	}
	for _, limit := range []int64{64 << 20, 16 << 20, 32 << 20} { // down and up again
		if err := g.LimitMemory(limit); err != nil {
			t.Fatal(err)
		}
	}
	if oom, err := g.OOM(); err != nil || oom.Kills != 0 {
		t.Errorf("before: %+v, %v", oom, err)
	}
	cmd := start(t, g, join+"exec tail /dev/zero") // keeps all of an endless line
	var ended *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &ended) || ended.Sys().(syscall.WaitStatus).Signal() != unix.SIGKILL {
		t.Fatalf("a process beyond the limit: %v", err)
	}
	if oom, err := g.OOM(); err != nil || oom.Kills != 1 {
		t.Errorf("after: %+v, %v", oom, err)
	}
	if peak := memoryPeak(t, g); peak < 16<<20 || peak > 33<<20 {
		t.Errorf("peak %d MiB", peak>>20)
	}
}

func TestBornInsideTheGroup(t *testing.T) {
	g := testGroup(t)
	cmd := exec.Command("/bin/cat", "/proc/self/cgroup")
	cmd.SysProcAttr = &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: g.FD()}
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(strings.NewReader(string(out)))
	for lines.Scan() {
		if path, ok := strings.CutPrefix(lines.Text(), "0::"); ok && !strings.HasSuffix(g.Dir(), path) {
			t.Errorf("the process is in %s, the group is %s", path, g.Dir())
		}
	}
}

// TestAnEmptyGroupIsNotKilled looks after what a group is used again for: on
// Linux 6.14 and later every process born into a group that was ever killed dies.
func TestAnEmptyGroupIsNotKilled(t *testing.T) {
	g := testGroup(t)
	for range 3 {
		if err := start(t, g, "exit 0").Wait(); err != nil {
			t.Fatalf("a process born into the group: %v", err)
		}
		reaches(t, "an empty group", func() bool { pids, err := g.Pids(nil); return err == nil && len(pids) == 0 })
		if err := g.Kill(soon()); err != nil {
			t.Fatal(err)
		}
		if g.Killed() {
			t.Skip("the kernel still counted the process that was waited for")
		}
	}
	start(t, g, "exec sleep 1000")
	if err := g.Kill(soon()); err != nil || !g.Killed() {
		t.Errorf("a group with a process was not killed: %v", err)
	}
}

func TestUnlimitMemory(t *testing.T) {
	g := testGroup(t)
	if g.memory == MemoryNone {
		if err := g.UnlimitMemory(); !errors.Is(err, ErrNoMemoryControl) {
			t.Error(err)
		}
		t.Skip("no memory controller here")
	}
	file := filepath.Join(g.MemoryDir(), "memory.limit_in_bytes")
	if g.memory == MemoryV2 {
		file = filepath.Join(g.Dir(), "memory.max")
	}
	read := func() string {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	unlimited := read()
	if err := g.LimitMemory(64 << 20); err != nil {
		t.Fatal(err)
	}
	if read() == unlimited {
		t.Fatal("the limit was not set")
	}
	if err := g.UnlimitMemory(); err != nil {
		t.Fatal(err)
	}
	if now := read(); now != unlimited {
		t.Errorf("the limit is %q, at first it was %q", now, unlimited)
	}
	if used, err := g.MemoryUsed(); err != nil || used > 1<<20 {
		t.Errorf("%d bytes are charged to a group that had no process, %v", used, err)
	}
}

// A group that somebody else has emptied and removed meanwhile needs no killing.
func TestAGroupThatIsGoneIsKilled(t *testing.T) {
	g := testGroup(t)
	if err := g.Close(time.Now().Add(timeout)); err != nil {
		t.Fatal(err)
	}
	if err := g.Kill(time.Now().Add(timeout)); err != nil {
		t.Error(err)
	}
}
