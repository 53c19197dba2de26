package procgroup

import (
	"errors"
	"os/exec"
	"score/channels/procstat"
	"score/tests/tracer"
	"testing"

	"golang.org/x/sys/unix"
)

// A process that has got the number of one that was found is not signalled.
func TestSignalsReachOnlyTheProcessThatWasFound(t *testing.T) {
	command := exec.Command("sleep", "1000")
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	pid := command.Process.Pid
	stat, err := procstat.Read(pid)
	if err != nil {
		t.Fatal(err)
	}
	if err := (process{pid, stat.Start - 1}).signal(unix.SIGKILL); !errors.Is(err, unix.ESRCH) {
		t.Errorf("an earlier process with the number: %v", err)
	}
	if s, err := procstat.Read(pid); err != nil || s.Exited() {
		t.Errorf("the process was killed: %+v, %v", s, err)
	}
	if err := (process{pid, stat.Start}).signal(unix.SIGKILL); err != nil {
		t.Error(err)
	}
	_ = command.Wait() // the signal is its status
	if err := (process{pid, stat.Start}).signal(unix.SIGKILL); !errors.Is(err, unix.ESRCH) {
		t.Errorf("a process that is gone: %v", err)
	}
}

// A user's tracer does not keep processes of a job of the user, which were killed.
func TestTracedProcessesEnd(t *testing.T) {
	g, rank, _ := job(t, "exec sleep 1000")
	tracer.Hold(t, rank, nil)
	if err := g.Kill(soon()); err != nil {
		t.Fatal(err)
	}
}
