package main

import (
	"bufio"
	"path/filepath"
	"score/scored/client/clienttest"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestLeavingAPipe: who waits for the other end of a pipe can leave.
func TestLeavingAPipe(t *testing.T) {
	for _, option := range []string{"-i", "-o"} {
		pipe := filepath.Join(t.TempDir(), "pipe")
		if err := unix.Mkfifo(pipe, 0o600); err != nil {
			t.Fatal(err)
		}
		command := scrun(t, clienttest.Serve(t, clienttest.Daemon{}), "-v", option, pipe, "/bin/true")
		errs, err := command.StderrPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := command.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewReader(errs)
		if line, err := lines.ReadString('\n'); err != nil || !strings.Contains(line, "it gets") {
			t.Fatalf("%q, %v", line, err)
		}
		// One that comes just before the pipe is opened is for the ranks, so another follows.
		again := time.NewTicker(10 * time.Millisecond)
		over := make(chan struct{})
		go func() {
			for {
				select {
				case <-again.C:
					_ = command.Process.Signal(syscall.SIGTERM) // it may have ended
				case <-over:
					return
				}
			}
		}()
		line, err := lines.ReadString('\n')
		_ = command.Wait() // the code tells
		close(over)
		again.Stop()
		if code := command.ProcessState.ExitCode(); err != nil || code != 143 || line != "scrun: interrupted before the job was submitted\n" {
			t.Errorf("%s: exit code %d, %q, %v", option, code, line, err)
		}
	}
}
