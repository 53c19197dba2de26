package processes

import (
	"bytes"
	"os"
	"os/exec"
	"testing"
)

func find(mark string) (found []Process) {
	for p := range All() {
		if bytes.Contains(p.Environ, []byte(mark+"\x00")) {
			found = append(found, p)
		}
	}
	return found
}

// A process is found while it lives, and not as a zombie.
func TestProcesses(t *testing.T) {
	mark := "PROCESSES_TEST=" + t.TempDir()
	command := exec.Command("cat")
	command.Env = append(os.Environ(), mark)
	input, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	output, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	// What it says back shows that it is there: for a moment after its start the kernel shows no
	// command line.
	if _, err := input.Write([]byte("!")); err != nil {
		t.Fatal(err)
	}
	if _, err := output.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	if found := find(mark); len(found) != 1 || found[0].PID != command.Process.Pid || string(found[0].Command) != "cat\x00" {
		t.Errorf("of process %d is found: %v", command.Process.Pid, found)
	}
	input.Close()
	if err := AwaitEnd(command.Process.Pid); err != nil {
		t.Error(err)
	}
	if found := find(mark); len(found) != 0 {
		t.Errorf("a dead process is found: %v", found)
	}
	if err := command.Wait(); err != nil {
		t.Error(err)
	}
	if err := AwaitEnd(command.Process.Pid); err != nil {
		t.Error(err)
	}
}
