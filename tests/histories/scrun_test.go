package histories

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"score/scored/failpoint"
	"score/tests/daemons"
	"strings"
	"testing"
)

// whileSubmitting are the points between which nobody but the servers knows what becomes of a
// submission.
var whileSubmitting = []failpoint.Point{failpoint.ProposeBegin, failpoint.ProposeEnd, failpoint.CommitBegin, failpoint.CommitEnd}

// The server that leads is killed while scrun submits, asked by scrun itself or by the server that
// scrun asks: scrun ends with its job's own exit code, and the job has run once.
func TestScrunOnce(t *testing.T) {
	s := newScene(t, 3, nil)
	for _, point := range whileSubmitting {
		for _, leads := range []bool{true, false} {
			s.submitsOnce(point, leads)
		}
	}
	s.cancelAll([]uint64{s.holder})
	s.Check(s.AwaitForgotten(s.Ctx))
	s.Check(s.AwaitClean(s.Ctx, nil))
}

func (s *scene) submitsOnce(point failpoint.Point, leads bool) {
	s.T.Helper()
	token := fmt.Sprintf("%s-%v", point, leads)
	code, errs, hit := 0, "", false
	for early := true; early; early = strings.Contains(errs, "no daemon answers") { // an entry of before came to the point
		s.Check(s.AwaitUp(s.Ctx))
		asked := s.server(leads)
		s.hits(servers) // what happened before does not count
		s.Check(s.Fail(fmt.Sprintf("%s:%s=kill@1", servers, point)))
		code, errs = s.scrun(asked.Socket, token)
		s.Check(s.disarm())
		hit = s.hits(servers) || hit
	}
	if ran := s.ranTimes(token); code != 7 || ran != 1 || !hit {
		s.T.Errorf("%s, asked by scrun %v: code %d, the job ran %d times, a server was killed: %v\n%s", point, leads, code, ran, hit, errs)
	}
}

// server finds a server that leads, or one that does not.
func (s *scene) server(leads bool) (found *daemons.Daemon) {
	s.T.Helper()
	s.Await("a server leads", func() bool {
		for _, server := range s.Servers {
			states, err := s.ServerStates(s.Ctx, server.Socket)
			for _, state := range states {
				if err == nil && state.Name == server.Name && state.Leader == leads {
					found = server
					return true
				}
			}
		}
		return false
	})
	return found
}

// scrun runs a job that appends its token to a file.
func (s *scene) scrun(socket, token string) (code int, errs string) {
	s.T.Helper()
	command := s.Program(s.Ctx, socket, "scrun", "-n", "1", "-w", free, "--mem", "8M",
		"sh", "-c", `echo "$0" >> "$1"; exit 7`, token, s.ran())
	said := new(bytes.Buffer)
	command.Stderr = said
	err := command.Run()
	if _, ended := errors.AsType[*exec.ExitError](err); err != nil && !ended {
		s.T.Fatal(err)
	}
	return command.ProcessState.ExitCode(), said.String()
}

func (s *scene) ran() string { return filepath.Join(s.Dir, "ran") }

// ranTimes counts the lines that a job has appended.
func (s *scene) ranTimes(token string) (times int) {
	s.T.Helper()
	data, err := os.ReadFile(s.ran())
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		s.T.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		if strings.TrimSuffix(line, "\n") == token {
			times++
		}
	}
	return times
}
