package child

import (
	"fmt"
	"os/exec"
	"syscall"
	"testing"
)

func TestChild(t *testing.T) {
	c := Start(t, exec.Command("cat"))
	for _, line := range []string{"one", "", "two words"} {
		fmt.Fprintln(c.In, line)
		if said := c.Line(t); said != line {
			t.Errorf("it says %q, want %q", said, line)
		}
	}
	c.End()
	if err := syscall.Kill(c.Process.Pid, 0); err == nil {
		t.Error("it lives on")
	}
}
