package cgroup

import (
	"fmt"
	"os"
	"os/exec"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// timeout bounds every wait of these tests.
const timeout = 60 * time.Second

func soon() time.Time { return time.Now().Add(timeout) }

var roots atomic.Int32

// testRoot is a node's group of its own, or skips where there can be none.
func testRoot(t testing.TB) *Root {
	t.Helper()
	if r := Probe(); !r.Usable {
		t.Skip("control groups cannot be used: ", r.Reason)
	}
	node := fmt.Sprintf("test-%d-%d", os.Getpid(), roots.Add(1))
	r, err := OpenRoot("cgroup-test", node)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := r.Sweep(soon(), nil); err != nil {
			t.Error(err)
		}
		if err := r.Remove(time.Now().Add(time.Minute)); err != nil {
			t.Error(err)
		}
	})
	return r
}

func testGroup(t testing.TB) *Group {
	t.Helper()
	g, err := testRoot(t).Create(0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.Close(soon()); err != nil {
			t.Error(err)
		}
	})
	return g
}

// start runs a line of shell in the group.
func start(t testing.TB, g *Group, line string) *exec.Cmd {
	t.Helper()
	return startAs(t, g, nil, line)
}

// startAs runs a line of shell in the group as a user.
func startAs(t testing.TB, g *Group, user *syscall.Credential, line string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("/bin/sh", "-c", line)
	cmd.SysProcAttr = &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: g.FD(), Credential: user, Pdeathsig: syscall.SIGKILL}
	return run(t, cmd)
}

// run starts and has the process reaped at the end.
func run(t testing.TB, cmd *exec.Cmd) *exec.Cmd {
	t.Helper()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd
}

const spin = "while :; do :; done"

// reaches waits for a condition that another process brings about.
func reaches(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for end := soon(); !ok(); {
		if time.Now().After(end) {
			t.Fatal("never: ", what)
		}
		time.Sleep(100 * time.Microsecond)
	}
}

// memoryPeak is the most memory that the group has used at once, in bytes.
func memoryPeak(t *testing.T, g *Group) uint64 {
	t.Helper()
	if g.memory == MemoryV1 {
		return mustRead(t, g.memDir, "memory.max_usage_in_bytes")
	}
	return mustRead(t, g.dir, "memory.peak")
}

// processes is how many processes and threads the group has.
func processes(t *testing.T, g *Group) uint64 {
	t.Helper()
	if g.pidsDir != "" {
		return mustRead(t, g.pidsDir, "pids.current")
	}
	return mustRead(t, g.dir, "pids.current")
}

func mustRead(t *testing.T, dir, name string) uint64 {
	t.Helper()
	n, err := readNumber(dir, name)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
