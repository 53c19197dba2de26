package processes

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"score/tests/child"
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
	cat := child.Start(t, command)
	// What it says back shows that it is there: for a moment after its start the kernel shows no
	// command line.
	fmt.Fprintln(cat.In, "!")
	cat.Line(t)
	if found := find(mark); len(found) != 1 || found[0].PID != command.Process.Pid || string(found[0].Command) != "cat\x00" {
		t.Errorf("of process %d is found: %v", command.Process.Pid, found)
	}
	cat.In.Close()
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
