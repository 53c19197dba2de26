package clocks

import (
	"bytes"
	"context"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"connectrpc.com/connect"

	"score/scored/api/scorev1"
	"score/tests/daemons"
	"score/tests/daemons/daemonstest"
	"score/tests/hostclock"
)

// bin is the directory of the freshly built programs.
var bin string

// long has all tests run: a busy machine takes minutes for them, and three servers on one may hold elections without end.
var long = flag.Bool("clocks.long", false, "run the tests that take minutes on a busy machine")

func needLong(t *testing.T) {
	t.Helper()
	if !*long {
		t.Skip("it takes minutes on a busy machine; run with -clocks.long")
	}
}

func TestMain(m *testing.M) {
	hostclock.Main()
	os.Exit(daemonstest.Run(m, &bin))
}

const (
	// slice of the rotation.
	slice = 10 * time.Millisecond
	// age is how long ago the clocks say that the cluster was made: certificates are older than any step back.
	age = 24 * time.Hour
	// near is by how much an instant may differ from what is expected: less than any step, and more than a test takes.
	near = 20 * time.Minute
)

// scene is a cluster of a day ago, on which two gangs take turns.
type scene struct {
	*daemons.Cluster
	t     *testing.T
	ctx   context.Context
	said  *sayings
	gangs []*daemons.Job
}

// sayings is what the daemons say.
type sayings struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *sayings) Write(text []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(text)
}

func (s *sayings) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

func newScene(t *testing.T, servers, nodes int) *scene {
	t.Helper()
	s := &scene{t: t, ctx: t.Context(), said: new(sayings)}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log("the daemons said:\n", s.said)
		}
	})
	s.Cluster = daemonstest.Start(t, daemons.Options{
		Bin: bin, Servers: servers, Nodes: nodes, Slice: slice, Grace: time.Minute, Clocks: true, Errors: s.said,
	})
	for _, d := range append(s.OtherServers(nil), s.Agents...) {
		s.step(d, age)
	}
	for _, name := range []string{"a", "b"} {
		gang, err := s.ExchangeInTurn(name, "n1,n2", 2)
		s.check(err)
		s.gangs = append(s.gangs, gang)
	}
	s.goOn()
	return s
}

func (s *scene) check(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *scene) await(what string, is func() bool) {
	s.t.Helper()
	s.check(daemons.Await(s.ctx, what, is))
}

// step sets the clock of a daemon's host.
func (s *scene) step(d *daemons.Daemon, by time.Duration) {
	s.t.Helper()
	s.check(d.Clock.Step(by))
}

// goOn says that the gangs' messages come.
func (s *scene) goOn() {
	s.t.Helper()
	now := time.Now()
	for _, gang := range s.gangs {
		_, err := gang.AwaitRounds(s.ctx, now)
		s.check(err)
	}
}

// runs says that a new gang runs, and ends with its own code.
func (s *scene) runs() {
	s.t.Helper()
	const code = 7
	command := exec.CommandContext(s.ctx, filepath.Join(bin, "scrun"), "-n", "2", "-N", "2", "-s", "sh", "-c", "echo hello; exit 7")
	command.Dir = s.Dir
	command.Env = append(os.Environ(), "SCORE_SOCKET="+s.Socket(), daemons.Mark+"="+s.Dir)
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := command.Output()
	if command.ProcessState == nil || command.ProcessState.ExitCode() != code || string(out) != "hello\nhello\n" {
		s.t.Fatalf("a gang said %q and ended with %v", out, err)
	}
}

// submit has a job sleep, which is changed beforehand.
func (s *scene) submit(change func(*scorev1.JobSpec)) uint64 {
	s.t.Helper()
	spec := &scorev1.JobSpec{
		Argv: []string{"/bin/sleep", "1000"}, WorkDir: "/", Tasks: 1, Detached: true, StdoutPattern: os.DevNull,
		Oversubscribe: true, MemoryPerNodeBytes: 8 << 20, Env: []string{"PATH=/bin", daemons.Mark + "=" + s.Dir},
	}
	change(spec)
	id, err := s.Submit(s.ctx, spec)
	s.check(err)
	s.await("the job runs", func() bool { return s.job(id).GetState() == scorev1.JobState_JOB_STATE_RUNNING })
	return id
}

// job waits for a server that tells of a job.
func (s *scene) job(id uint64) (job *scorev1.Job) {
	s.t.Helper()
	s.await("a server tells of the job", func() bool {
		reply, err := s.Jobs.GetJob(s.ctx, connect.NewRequest(&scorev1.GetJobRequest{JobId: id}))
		if err == nil {
			job = reply.Msg.GetJob()
		}
		return err == nil
	})
	return job
}
