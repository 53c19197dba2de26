package main

import (
	"bytes"
	"os"
	"os/exec"
	"testing"
	"time"
)

// slow is a reader's side that is late.
type slow struct{ bytes.Buffer }

func (s *slow) Write(data []byte) (int, error) {
	time.Sleep(lateOutput) // what is tried
	return s.Buffer.Write(data)
}

// TestOutput: all that a command wrote is read on a machine that is late, and what it leaves behind
// keeps nobody waiting.
func TestOutput(t *testing.T) {
	hold, release, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer hold.Close()
	defer release.Close()
	c := &started{Cmd: exec.Command("sh", "-c", `read x & i=0
while [ $i -lt 4 ]; do i=$((i+1)); head -c 10000 /dev/zero; done
echo bad >&2; exit 3`)}
	c.Stdin = hold // the process that is left behind ends with the test
	var out slow
	var diagnostics bytes.Buffer
	if err := c.start(&out, &diagnostics); err != nil {
		t.Fatal(err)
	}
	if err := c.wait(); err == nil || c.ProcessState.ExitCode() != 3 {
		t.Errorf("the command ended with %v", err)
	}
	if out.Len() != 40000 || diagnostics.String() != "bad\n" {
		t.Errorf("%d bytes of output, and %q", out.Len(), diagnostics.String())
	}
}
