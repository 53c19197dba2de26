package clocks

import (
	"os"
	"score/scored/api/scorev1"
	"score/tests/daemons"
	"score/tests/daemons/daemonstest"
	"score/tests/hostclock"
	"score/tests/journal"
	"testing"
	"time"

	"connectrpc.com/connect"
)

// bin is the directory of the freshly built programs.
var bin string

func TestMain(m *testing.M) {
	hostclock.Main()
	os.Exit(daemonstest.Run(m, &bin))
}

const (
	// slice of the rotation.
	slice = 10 * time.Millisecond
	// age is how long ago the clocks say that the cluster was made: certificates are older than any
	// step back.
	age = 24 * time.Hour
	// near is by how much an instant may differ from what is expected: less than any step, and more
	// than a test takes.
	near = 20 * time.Minute
)

// scene is a cluster of a day ago, on which two gangs take turns.
type scene struct {
	*daemonstest.Scene
	said  *journal.Journal // what the daemons say
	gangs []*daemons.Job
}

func newScene(t *testing.T, servers, nodes int) *scene {
	t.Helper()
	said := new(journal.Journal)
	s := &scene{said: said, Scene: daemonstest.NewScene(t, daemons.Options{
		Bin: bin, Servers: servers, Nodes: nodes, Slice: slice, Grace: time.Minute, Clocks: true, Errors: said,
	})}
	for _, d := range append(s.OtherServers(nil), s.Agents...) {
		s.step(d, age)
	}
	for _, name := range []string{"a", "b"} {
		gang, err := s.ExchangeInTurn(name, "n1,n2", 2)
		s.Check(err)
		s.gangs = append(s.gangs, gang)
	}
	s.goOn()
	return s
}

// step sets the clock of a daemon's host.
func (s *scene) step(d *daemons.Daemon, by time.Duration) {
	s.T.Helper()
	s.Check(d.Clock.Step(by))
}

// goOn reports that the gangs' messages come.
func (s *scene) goOn() {
	s.T.Helper()
	now := time.Now()
	for _, gang := range s.gangs {
		_, err := gang.AwaitRounds(s.Ctx, now)
		s.Check(err)
	}
}

// runs reports that a new gang runs, and ends with its own code.
func (s *scene) runs() {
	s.T.Helper()
	const code = 7
	command := s.Program(s.Ctx, s.Socket(), "scrun", "-n", "2", "-N", "2", "-s", "sh", "-c", "echo hello; exit 7")
	out, err := command.Output()
	if command.ProcessState == nil || command.ProcessState.ExitCode() != code || string(out) != "hello\nhello\n" {
		s.T.Fatalf("a gang said %q and ended with %v", out, err)
	}
}

// submit has a job sleep, which is changed beforehand.
func (s *scene) submit(change func(*scorev1.JobSpec)) uint64 {
	s.T.Helper()
	spec := &scorev1.JobSpec{
		Argv: []string{"/bin/sleep", "1000"}, WorkDir: "/", Tasks: 1, Detached: true, StdoutPattern: os.DevNull,
		Oversubscribe: true, MemoryPerNodeBytes: 8 << 20, Env: []string{"PATH=/bin", daemons.Mark + "=" + s.Dir},
	}
	change(spec)
	id, err := s.Submit(s.Ctx, spec)
	s.Check(err)
	s.Await("the job runs", func() bool { return s.job(id).GetState() == scorev1.JobState_JOB_STATE_RUNNING })
	return id
}

// job waits for a server that tells of a job.
func (s *scene) job(id uint64) (job *scorev1.Job) {
	s.T.Helper()
	s.Await("a server tells of the job", func() bool {
		reply, err := s.Jobs.GetJob(s.Ctx, connect.NewRequest(&scorev1.GetJobRequest{JobId: id}))
		if err == nil {
			job = reply.Msg.GetJob()
		}
		return err == nil
	})
	return job
}
