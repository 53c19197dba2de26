package failures

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"connectrpc.com/connect"

	"score/scored/api/scorev1"
	"score/tests/daemons"
	"score/tests/journal"
)

// program is a program of the house that a test runs beside its cluster.
type program struct {
	t       *testing.T
	line    string
	command *exec.Cmd
	ended   chan struct{} // closed at its end

	output journal.Journal // both streams, as they came
}

// said is what the program has said so far.
func (p *program) said() string { return p.output.String() }

// start starts a program for a cluster's users.
func start(t *testing.T, c *daemons.Cluster, name string, arguments ...string) *program {
	t.Helper()
	p := &program{t: t, line: name + " " + strings.Join(arguments, " "), ended: make(chan struct{})}
	p.command = exec.Command(filepath.Join(c.Bin, name), arguments...)
	p.command.Dir = c.Dir
	p.command.Env = append(os.Environ(), "SCORE_SOCKET="+c.Socket(), daemons.Mark+"="+c.Dir)
	p.command.Stdout, p.command.Stderr = &p.output, &p.output
	p.command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := p.command.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.ended)
		_ = p.command.Wait() // the state says how
	}()
	t.Cleanup(func() {
		_ = p.command.Process.Kill()
		<-p.ended
	})
	return p
}

// code waits for the program's end.
func (p *program) code() int {
	p.t.Helper()
	if err := daemons.Await(p.t.Context(), "the end of "+p.line, func() bool {
		select {
		case <-p.ended:
			return true
		default:
			return false
		}
	}); err != nil {
		p.t.Fatalf("%v\n%s", err, p.said())
	}
	return p.command.ProcessState.ExitCode()
}

// ends waits for the program's end, with this code, having said all these words.
func (p *program) ends(code int, words ...string) {
	p.t.Helper()
	got := p.code()
	said := p.said()
	for _, word := range words {
		if got != code || !strings.Contains(said, word) {
			p.t.Errorf("%s: exit code %d, want %d and %q:\n%s", p.line, got, code, words, said)
			return
		}
	}
}

// scored runs a command to its end and gives what it said.
func scored(t *testing.T, c *daemons.Cluster, arguments ...string) string {
	t.Helper()
	p := start(t, c, "scored", arguments...)
	if code := p.code(); code != 0 {
		t.Fatalf("%s: exit code %d\n%s", p.line, code, p.said())
	}
	return p.said()
}

// awaitJob waits until a job is as wanted.
func awaitJob(t *testing.T, c *daemons.Cluster, id uint64, what string, is func(*scorev1.Job) bool) {
	t.Helper()
	var last *scorev1.Job
	err := daemons.Await(t.Context(), fmt.Sprintf("job %d %s", id, what), func() bool {
		reply, err := c.Jobs.GetJob(t.Context(), connect.NewRequest(&scorev1.GetJobRequest{JobId: id}))
		if err != nil {
			return false
		}
		last = reply.Msg.GetJob()
		return is(last)
	})
	if err != nil {
		t.Fatalf("%v: %v, restarts %d, %v", err, last.GetState(), last.GetRestarts(), last.GetVerdict())
	}
}

func running(j *scorev1.Job) bool {
	return j.GetState() == scorev1.JobState_JOB_STATE_RUNNING && j.GetStartedNanos() != 0
}

// on tells whether a job has a place on the node.
func on(j *scorev1.Job, node string) bool {
	for _, p := range j.GetPlaces() {
		if p.GetNode() == node {
			return true
		}
	}
	return false
}
