package cgroup

import (
	"errors"
	"os"
	"score/tests/tracer"
	"syscall"
	"testing"
	"time"
)

// A user's tracer does not keep processes of a job of the user, which were killed.
func TestTracedProcessesEnd(t *testing.T) {
	g := testGroup(t)
	rank := start(t, g, "exec sleep 1000")
	tracing := tracer.Hold(t, rank.Process.Pid, nil)
	if err := g.Kill(soon()); err != nil {
		t.Fatal(err)
	}
	if state, err := tracing.Process.Wait(); err != nil || state.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Errorf("the tracer: %v, %v", state, err)
	}
}

// A tracer with other rights than the process, as an administrator's debugger, is let alone.
func TestTracersOfOthersAreLeftAlone(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can trace processes of other users")
	}
	g := testGroup(t)
	rank := startAs(t, g, &syscall.Credential{Uid: 65534, Gid: 65534}, "exec sleep 1000")
	tracing := tracer.Hold(t, rank.Process.Pid, nil)
	if err := g.Kill(time.Now().Add(2 * tracedAfter)); !errors.Is(err, ErrNotEmpty) {
		t.Errorf("a process that root's tracer holds: %v", err)
	}
	if err := tracing.Process.Signal(syscall.Signal(0)); err != nil {
		t.Errorf("the tracer: %v", err)
	}
	_ = tracing.Process.Kill() // so that the group can be closed
}
