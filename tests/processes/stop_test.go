package processes

import (
	"os/exec"
	"score/channels/procstat"
	"testing"
)

func TestStop(t *testing.T) {
	command := exec.Command("cat", "/dev/zero")
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = command.Wait() }() // it was killed
	defer func() { _ = command.Process.Kill() }()
	if err := Stop(command.Process.Pid); err != nil {
		t.Fatal(err)
	}
	if stat, err := procstat.Read(command.Process.Pid); err != nil || stat.State != 'T' {
		t.Errorf("it is %c, %v", stat.State, err)
	}
}

func TestStopOfAProcessThatHasEnded(t *testing.T) {
	command := exec.Command("true")
	if err := command.Run(); err != nil {
		t.Fatal(err)
	}
	if err := Stop(command.Process.Pid); err == nil {
		t.Error("a process that has ended was stopped")
	}
}
