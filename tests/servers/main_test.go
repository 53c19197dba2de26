//go:build soak

package servers

import (
	"os"
	"path/filepath"
	"score/tests/daemons"
	"score/tests/daemons/daemonstest"
	"strings"
	"testing"
	"time"
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

// scrun starts one by way of a server.
func (s *scene) scrun(server *daemons.Daemon, arguments ...string) *daemonstest.Program {
	s.T.Helper()
	return daemonstest.Begin(s.T, s.Cluster, server.Socket, "scrun", arguments...)
}

// refuses submits a job to a server that is cut off; the result waits for its refusal.
func (s *scene) refuses(server *daemons.Daemon) (refused func()) {
	s.T.Helper()
	p := s.scrun(server, "--patience", "3s", "--detach", "-o", "/dev/null", "sh", "-c", "echo x >>never")
	return func() {
		s.T.Helper()
		if p.Code() == 0 {
			s.T.Errorf("server %s, which is cut off, took a job: %q", server.Name, p.Said())
		}
		if s.exists("never") {
			s.T.Errorf("server %s had a job run that it refused", server.Name)
		}
	}
}

// goesOn reports that a gang's messages come.
func (s *scene) goesOn(j *daemons.Job) {
	s.T.Helper()
	_, err := j.AwaitRounds(s.Ctx, time.Now())
	s.Check(err)
}

// runs has a gang say something, by way of a server. One that a leader takes which is lost
// meanwhile may fail, and is tried again.
func (s *scene) runs(server *daemons.Daemon, word string) {
	s.T.Helper()
	s.Await("a gang runs", func() bool {
		p := s.scrun(server, "-n", "2", "-N", "2", "-s", "echo", word)
		if p.Code() == 0 && p.Said() == word+"\n"+word+"\n" {
			return true
		}
		s.T.Logf("a gang failed: %q", p.Said())
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
