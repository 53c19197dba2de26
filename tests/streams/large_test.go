//go:build soak

package streams

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"hash"
	"io"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"score/scored/leader"
	"score/tests/daemons"
	"score/tests/daemons/daemonstest"
	"syscall"
	"testing"
	"time"
)

// large is far more than all buffers on the way hold.
const large = 1 << 30

// A gigabyte comes back byte by byte from programs that read and write at their own pace, at a
// server, at an agent, and in a cluster of scrun's own.
func TestGigabyte(t *testing.T) {
	s := daemonstest.NewScene(t, daemons.Options{Bin: bin, Servers: 3, Nodes: 1})
	for place, options := range map[string][]string{
		"server": nil, "agent": nil, "embedded": {"--cluster", "embedded"},
	} {
		for name, program := range map[string]string{
			"cat":                "exec cat",
			"gzip":               "gzip -1 | gzip -d",
			"reads all before":   "cat >$SCORE_JOB_DIR/all && exec cat $SCORE_JOB_DIR/all",
			"writes before that": "head -c 100000000 /dev/zero >&2; exec cat",
		} {
			t.Run(place+"/"+name, func(t *testing.T) {
				socket := s.Socket()
				if place == "agent" {
					socket = filepath.Join(s.Dir, "n1.sock")
				}
				arguments := append(append([]string{"-q", "-n", "1", "--mem", "64M"}, options...), "sh", "-c", program)
				returns(t, scrun(s.Cluster, socket, 0, arguments...))
			})
		}
	}
	s.End()
}

// away is far longer than the cluster waits for a scrun that is gone.
const away = 4 * leader.OwnerGrace

// A scrun that its user has stopped keeps its job, whatever daemon it asks.
func TestStoppedScrun(t *testing.T) {
	s := daemonstest.NewScene(t, daemons.Options{Bin: bin, Servers: 3, Nodes: 1})
	leads, err := s.AwaitLeader(s.Ctx, "", s.OtherServers(nil)...)
	s.Check(err)
	var all []*exec.Cmd
	for _, socket := range []string{leads.Socket, s.OtherServers(leads)[0].Socket, filepath.Join(s.Dir, "n1.sock")} {
		command := scrun(s.Cluster, socket, 0, "-q", "-n", "1", "-s", "--mem", "8M", "sh", "-c", "echo begun; exec cat")
		input, err := command.StdinPipe()
		s.Check(err)
		defer input.Close()
		output, err := command.StdoutPipe()
		s.Check(err)
		s.Check(command.Start())
		_, err = io.ReadFull(output, make([]byte, len("begun\n")))
		s.Check(err)
		s.Check(command.Process.Signal(syscall.SIGSTOP))
		all = append(all, command)
	}
	time.Sleep(away)
	for _, command := range all {
		s.Check(command.Process.Signal(syscall.SIGCONT))
		s.Check(command.Process.Signal(syscall.SIGUSR1)) // which ends the job's cat
		if err := command.Wait(); command.ProcessState.ExitCode() != 128+int(syscall.SIGUSR1) {
			t.Errorf("the job has not gone on: %v", err)
		}
	}
	s.End()
}

// returns has a job give back a large input, without keeping it in memory.
func returns(t *testing.T, command *exec.Cmd) {
	t.Helper()
	sent, got := sha256.New(), sha256.New()
	command.Stdin = io.TeeReader(io.LimitReader(rand.NewChaCha8([32]byte{1}), large), sent)
	count := &counted{Hash: got}
	said := new(bytes.Buffer)
	command.Stdout, command.Stderr = count, said
	if err := command.Run(); err != nil {
		t.Fatalf("%v: %.300q", err, said)
	}
	if count.bytes != large || fmt.Sprintf("%x", sent.Sum(nil)) != fmt.Sprintf("%x", got.Sum(nil)) {
		t.Errorf("%d bytes came back of %d, or others", count.bytes, large)
	}
}

// counted counts what it hashes.
type counted struct {
	hash.Hash
	bytes int64
}

func (c *counted) Write(b []byte) (int, error) {
	c.bytes += int64(len(b))
	return c.Hash.Write(b)
}
