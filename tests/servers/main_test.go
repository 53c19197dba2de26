//go:build soak

package servers

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"score/tests/daemons"
	"score/tests/daemons/daemonstest"
)

// bin is the directory of the freshly built programs.
var bin string

func TestMain(m *testing.M) { os.Exit(daemonstest.Run(m, &bin)) }

// slice of the rotation.
const slice = 10 * time.Millisecond

// scene is a cluster of three servers.
type scene struct {
	*daemonstest.Scene
}

func newScene(t *testing.T, o daemons.Options) *scene {
	t.Helper()
	o.Bin, o.Servers, o.Slice, o.Grace = bin, 3, slice, time.Minute
	return &scene{daemonstest.NewScene(t, o)}
}

// leader waits until one leads for all of the servers; none: all there are.
func (s *scene) leader(not string, among ...*daemons.Daemon) *daemons.Daemon {
	s.T.Helper()
	if len(among) == 0 {
		among = s.OtherServers(nil)
	}
	leader, err := s.AwaitLeader(s.Ctx, not, among...)
	s.Check(err)
	return leader
}

// scrun starts one by way of a server; what it says goes into the file.
func (s *scene) scrun(server *daemons.Daemon, file string, arguments ...string) *program {
	s.T.Helper()
	out, err := os.Create(filepath.Join(s.Dir, file))
	s.Check(err)
	defer out.Close()
	command := exec.Command(filepath.Join(s.Bin, "scrun"), arguments...)
	command.Dir, command.Stdout, command.Stderr = s.Dir, out, out
	command.Env = append(os.Environ(), "SCORE_SOCKET="+server.Socket, daemons.Mark+"="+s.Dir)
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	s.Check(command.Start())
	p := &program{scene: s, command: command, file: out.Name(), ended: make(chan struct{})}
	go func() {
		defer close(p.ended)
		_ = command.Wait() // the state says how
	}()
	s.T.Cleanup(func() {
		_ = command.Process.Kill()
		<-p.ended
	})
	return p
}

// program is an scrun.
type program struct {
	scene   *scene
	command *exec.Cmd
	file    string
	ended   chan struct{}
}

func (p *program) over() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

func (p *program) said() string {
	text, _ := os.ReadFile(p.file) // it was made at the start
	return string(text)
}

// ends waits for the end, with an exit code and texts that were said.
func (p *program) ends(code int, texts ...string) {
	p.scene.T.Helper()
	p.scene.Await("the end of "+p.command.String(), p.over)
	said := p.said()
	if got := p.command.ProcessState.ExitCode(); got != code {
		p.scene.T.Errorf("%s ended with exit code %d, want %d: %q", p.command, got, code, said)
	}
	for _, text := range texts {
		if !strings.Contains(said, text) {
			p.scene.T.Errorf("%s said %q, want %q", p.command, said, text)
		}
	}
}

// refuses submits a job to a server that is cut off; the result waits for its refusal.
func (s *scene) refuses(server *daemons.Daemon) (refused func()) {
	s.T.Helper()
	p := s.scrun(server, "refused", "--patience", "3s", "--detach", "-o", "/dev/null", "sh", "-c", "echo x >>never")
	return func() {
		s.T.Helper()
		s.Await("the refusal", p.over)
		if p.command.ProcessState.ExitCode() == 0 {
			s.T.Errorf("server %s, which is cut off, took a job: %q", server.Name, p.said())
		}
		if s.exists("never") {
			s.T.Errorf("server %s had a job run that it refused", server.Name)
		}
	}
}

// goesOn says that a gang's messages come.
func (s *scene) goesOn(j *daemons.Job) {
	s.T.Helper()
	_, err := j.AwaitRounds(s.Ctx, time.Now())
	s.Check(err)
}

// runs has a gang say something, by way of a server. One that a leader takes which is lost meanwhile may fail, and is
// tried again.
func (s *scene) runs(server *daemons.Daemon, word string) {
	s.T.Helper()
	s.Await("a gang runs", func() bool {
		p := s.scrun(server, word, "-n", "2", "-N", "2", "-s", "echo", word)
		s.Await("the end of "+p.command.String(), p.over)
		said := p.said()
		if p.command.ProcessState.ExitCode() == 0 && said == word+"\n"+word+"\n" {
			return true
		}
		s.T.Logf("a gang failed: %q", said)
		return false
	})
}

func (s *scene) exists(file string) bool {
	_, err := os.Stat(filepath.Join(s.Dir, file))
	return err == nil
}

// lines are what ranks have written into a file.
func (s *scene) lines(file string) []string {
	s.T.Helper()
	text, err := os.ReadFile(filepath.Join(s.Dir, file))
	s.Check(err)
	return strings.Fields(string(text))
}
