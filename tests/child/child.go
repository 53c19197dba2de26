// Package child starts processes of tests, which read and say lines and end with the test.
package child

import (
	"bufio"
	"io"
	"os/exec"
	"strings"
	"testing"
)

// Child is such a process.
type Child struct {
	*exec.Cmd
	In  io.WriteCloser
	Out *bufio.Reader
}

// Start starts a command with pipes for its input and its output.
func Start(t testing.TB, command *exec.Cmd) *Child {
	t.Helper()
	in, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	c := &Child{Cmd: command, In: in, Out: bufio.NewReader(out)}
	t.Cleanup(c.End)
	return c
}

// Line waits for the process's next line. The test fails if there is none.
func (c *Child) Line(t testing.TB) string {
	t.Helper()
	line, err := c.Out.ReadString('\n')
	if err != nil {
		t.Fatalf("process %d has ended: %q, %v", c.Process.Pid, line, err)
	}
	return strings.TrimSuffix(line, "\n")
}

// End kills the process and waits for it. How it ends does not matter.
func (c *Child) End() {
	c.In.Close()
	_ = c.Process.Kill() // it may have ended
	_ = c.Wait()
}
