package streams

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"score/tests/daemons"
	"score/tests/daemons/daemonstest"
	"syscall"
	"testing"
	"time"
)

// eve is another user than the one whose streams must go on.
const eve = 65534

// bin is the directory of the freshly built programs.
var bin string

func TestMain(m *testing.M) { os.Exit(daemonstest.Run(m, &bin)) }

// scrun prepares a scrun of a user that calls the daemon at a socket.
func scrun(c *daemons.Cluster, socket string, uid uint32, arguments ...string) *exec.Cmd {
	command := c.Program(context.Background(), socket, "scrun", arguments...)
	command.Dir = "/"
	command.SysProcAttr.Credential = &syscall.Credential{Uid: uid, Gid: uid}
	return command
}

// begin starts a program, which is killed when the test ends, if not before.
func begin(t *testing.T, command *exec.Cmd) (end func()) {
	t.Helper()
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	var over bool
	end = func() {
		if over {
			return
		}
		over = true
		_ = command.Process.Kill() // also if it is stopped; it may have ended
		_ = command.Wait()         // the state says how
	}
	t.Cleanup(end)
	return end
}

// unread is a pipe that nobody reads, by both of its ends.
func unread(t *testing.T) (writer, reader *os.File) {
	t.Helper()
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { reader.Close(); writer.Close() })
	return writer, reader
}

// random is data in which a piece that is missing, doubled or misplaced shows.
func random(t *testing.T, size int) []byte {
	t.Helper()
	file, err := os.Open("/dev/urandom")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	data := make([]byte, size)
	if _, err := io.ReadFull(file, data); err != nil {
		t.Fatal(err)
	}
	return data
}

// echoed bounds how long a job may take to give back what it is given.
const echoed = 2 * daemons.Patience

// echoes has a job give back what it is given.
func echoes(t *testing.T, command *exec.Cmd, data []byte) {
	t.Helper()
	var back, said bytes.Buffer
	command.Stdin, command.Stdout, command.Stderr = bytes.NewReader(data), &back, &said
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	defer time.AfterFunc(echoed, func() { _ = command.Process.Kill() }).Stop()
	if err := command.Wait(); err != nil {
		t.Fatalf("%v: %s", err, said.String())
	}
	if !bytes.Equal(back.Bytes(), data) {
		t.Errorf("%d bytes came back of %d, or others: %s", back.Len(), len(data), said.String())
	}
}
