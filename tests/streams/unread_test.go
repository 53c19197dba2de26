package streams

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"score/tests/daemons"
	"score/tests/daemons/daemonstest"
	"testing"
	"time"
)

const (
	// ahead is output that fits into what is kept of a job's output, but not into the pipe behind
	// scrun.
	ahead = 200_000
	// behind is input that fits nowhere on its way.
	behind = 4 << 20
)

// Input reaches a rank though its output is not read; also by way of a server that was started
// again meanwhile, to which scrun attaches though it cannot write. When the output is read at last,
// all of it is there.
func TestInputBesideUnreadOutput(t *testing.T) {
	s := daemonstest.NewScene(t, daemons.Options{Bin: bin, Nodes: 1, Grace: time.Minute})
	input, source, err := os.Pipe()
	s.Check(err)
	defer source.Close()
	data := random(t, behind)
	writer, reader := unread(t)
	said := new(bytes.Buffer)
	received, half := filepath.Join(s.Dir, "received"), filepath.Join(s.Dir, "half")
	command := scrun(s.Cluster, s.Socket(), 0, "-n", "1", "sh", "-c",
		"head -c 200000 /dev/zero; head -c 2097152 >"+half+"; touch "+half+".done; cat >"+received+"; touch "+received+".done")
	command.Stdin, command.Stdout, command.Stderr = input, writer, said
	s.Check(source.SetWriteDeadline(time.Now().Add(2 * daemons.Patience))) // an input that stands still is an error
	s.Check(command.Start())
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	t.Cleanup(func() { _ = command.Process.Kill() })
	input.Close()
	writer.Close()
	_, err = source.Write(data[:behind/2])
	s.Check(err)
	s.Await("half of the input is there", func() bool { return exists(half + ".done") })
	s.Server.Kill()
	<-s.Server.Ended()
	s.Check(s.Server.Start())
	_, err = source.Write(data[behind/2:])
	s.Check(err)
	s.Check(source.Close())
	s.Await("the other half is there", func() bool { return exists(received + ".done") })
	got, err := os.ReadFile(received)
	s.Check(err)
	first, err := os.ReadFile(half)
	s.Check(err)
	if got = append(first, got...); !bytes.Equal(got, data) {
		t.Errorf("the rank got %d bytes of %d, or others", len(got), len(data))
	}
	output, err := io.ReadAll(reader)
	s.Check(err)
	if len(output) != ahead {
		t.Errorf("%d bytes of output came, want %d", len(output), ahead)
	}
	if err := <-ended; err != nil {
		t.Errorf("%v: %s", err, said)
	}
	s.End()
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
