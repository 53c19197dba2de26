package streams

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"score/gang"
	"score/scored/api/scorev1"
	"score/scored/leader"
	"score/tests/daemons"
	"score/tests/daemons/daemonstest"
	"strings"
	"syscall"
	"testing"
	"time"

	"connectrpc.com/connect"
	"golang.org/x/sys/unix"
)

const (
	// maxStuck is the number of streams that stand still in each direction beside one that must
	// not, where there are CPUs for them.
	maxStuck = 50
	// taken is how much each of them has taken before it counts as stuck: together several
	// times the megabyte that a connection between daemons once held for all of its streams.
	taken = 64 << 10
	// rows are enough for all of them on two CPUs, and the most there can be.
	rows = gang.MaxRowsLimit
	// carried is what that one carries each way. The gangs take turns, and in each turn a rank
	// takes a pipe of input, so it is no more than some dozens of pipes.
	carried = 2 << 20
	// served bounds how long it takes on a machine with much else to do; the turns take some
	// seconds.
	served = 30 * time.Second
	// late is what a busy machine adds to the end of jobs.
	late = 20 * time.Second
)

// stuckStream is a scrun whose stream stands still in one direction.
type stuckStream struct {
	command *exec.Cmd
	pipe    *os.File // its output, which nobody reads; nil: its job reads no input
	end     func()
}

// Streams of another user that stand still, on the same connections from a follower to the leader
// and from that to an agent, do not stop others. Jobs end when their scrun was killed, though their
// streams stand still.
func TestStuckStreams(t *testing.T) {
	s := daemonstest.NewScene(t, daemons.Options{Bin: bin, Servers: 3, Nodes: 1, Grace: 5 * time.Second})
	_, err := s.Cluster.Cluster.SetSettings(s.Ctx, connect.NewRequest(&scorev1.SetSettingsRequest{
		Settings: &scorev1.Settings{MaxRows: rows}, Fields: []string{"max_rows"},
	}))
	s.Check(err)
	leads, err := s.AwaitLeader(s.Ctx, "", s.OtherServers(nil)...)
	s.Check(err)
	follower := s.OtherServers(leads)[0]
	data := random(t, carried)
	began := time.Now()
	echoes(t, scrun(s.Cluster, follower.Socket, 0, "-n", "1", "--mem", "8M", "cat"), data)
	t.Logf("alone: %v", time.Since(began))

	s.Check(os.Chmod(bin, 0o755)) //nolint:gosec // another user must reach scrun
	streams := beginStuck(t, s, follower)
	began = time.Now()
	echoes(t, scrun(s.Cluster, follower.Socket, 0, "-n", "1", "-s", "--mem", "8M", "cat"), data)
	took := time.Since(began)
	t.Logf("beside %d stuck streams: %v", len(streams), took)
	if took > served {
		t.Errorf("another user's stream took %v", took)
	}

	began = time.Now()
	for _, one := range streams {
		one.end()
	}
	err = daemons.Await(s.Ctx, "the jobs whose scrun was killed end", func() bool {
		living, err := s.Living(s.Ctx)
		return err == nil && len(living) == 0
	})
	if err != nil {
		logLeft(s)
		t.Fatal(err)
	}
	took = time.Since(began)
	t.Logf("the jobs ended %v after their scrun", took)
	if took > leader.OwnerGrace+late {
		t.Errorf("the last job ended %v after its scrun", took)
	}
	s.End()
}

// beginStuck starts jobs that read no input, and others whose scrun writes into full pipes; each
// second one of these is stopped.
func beginStuck(t *testing.T, s *daemonstest.Scene, at *daemons.Daemon) []*stuckStream {
	t.Helper()
	var all []*stuckStream
	places := rows * runtime.NumCPU()
	for i := range min(2*maxStuck, places-1) {
		one := &stuckStream{}
		line := []string{"-n", "1", "-s", "--mem", "4M", "sleep", "1000"}
		if i%2 == 1 {
			line = append(line[:len(line)-2], "cat", "/dev/zero")
		}
		one.command = scrun(s.Cluster, at.Socket, eve, line...)
		if i%2 == 1 {
			one.command.Stdout, one.pipe = unread(t)
		} else {
			zeros, err := os.Open("/dev/zero")
			s.Check(err)
			defer zeros.Close()
			one.command.Stdin = zeros
		}
		one.end = begin(t, one.command)
		all = append(all, one)
	}
	s.Await("all jobs run", func() bool { return running(s) == len(all) })
	for i, one := range all {
		s.Await(fmt.Sprintf("stream %d stands still", i), one.full)
		if i%4 == 1 {
			s.Check(one.command.Process.Signal(syscall.SIGSTOP))
		}
	}
	return all
}

// running counts the jobs whose ranks have begun.
func running(s *daemonstest.Scene) (count int) {
	for job, err := range s.ListJobs(s.Ctx, &scorev1.ListJobsRequest{}) {
		if err == nil && daemonstest.Running(job) {
			count++
		}
	}
	return count
}

// logLeft logs the jobs that have not ended, and the processes that there are.
func logLeft(s *daemonstest.Scene) {
	for job, err := range s.ListJobs(s.Ctx, &scorev1.ListJobsRequest{}) {
		if err == nil && job.GetVerdict() == nil {
			s.T.Logf("job %d, %v: %v", job.GetId(), job.GetState(), job.GetSpec().GetArgv())
		}
	}
	for _, p := range s.Processes() {
		status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/wchan", p.PID))
		s.T.Logf("process %d, %+v: %s", p.PID, p, status)
	}
}

// full reports whether the stream has taken so much that its direction stands still, or soon will.
func (s *stuckStream) full() bool {
	if s.pipe != nil {
		waiting, err := unix.IoctlGetInt(int(s.pipe.Fd()), unix.TIOCINQ)
		return err == nil && waiting >= taken
	}
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/io", s.command.Process.Pid))
	var read int
	_, scanErr := fmt.Sscanf(strings.TrimSpace(string(text)), "rchar: %d", &read)
	return err == nil && scanErr == nil && read >= 4*taken
}
