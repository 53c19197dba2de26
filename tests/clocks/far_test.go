//go:build soak

package clocks

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"score/tests/hostclock"
	"strings"
	"testing"
	"time"
)

const year = 365 * 24 * time.Hour

// A node whose host's clock is set to another year stays. Its agent does not start by such a clock,
// and says by how much it is off, whichever way; the node is back when the clock is right. Gangs on
// other nodes do not notice.
func TestNodeClockFarOff(t *testing.T) {
	s := newScene(t, 1, 3)
	off := s.Agent("n3")
	for by, want := range map[time.Duration]string{
		year:  "expired 276 days ago, by this host's clock",
		-year: "is valid only in 363 days, by this host's clock",
	} {
		s.unnoticed(func() {
			s.step(off, by)
			s.goOn()
			s.step(off, -by)
		})
		s.step(off, by)
		s.runs()
		off.Kill()
		s.Check(off.Start())
		<-off.Ended()
		s.Await("it says "+want, func() bool { return s.said.Has(want) })
		s.goOn()
		s.step(off, -by)
		s.Check(off.Start())
		s.Check(s.AwaitUp(s.Ctx))
		s.goOn()
	}
	s.tokenExpired()
	s.End(s.gangs...)
}

// tokenExpired joins from a host whose clock is a day ahead.
func (s *scene) tokenExpired() {
	s.T.Helper()
	token, err := s.Token(s.Ctx, "agent")
	s.Check(err)
	clock, err := hostclock.New()
	s.Check(err)
	defer clock.Close()
	s.Check(clock.Step(s.Server.Clock.Offset() + 24*time.Hour))
	command := exec.Command(filepath.Join(s.Bin, "scored"), "agent", "--config", filepath.Join(s.Dir, "late.toml"), "--join", token)
	command.Dir = s.Dir
	var said bytes.Buffer
	command.Stderr = &said
	s.Check(clock.Start(command))
	err = command.Wait()
	const want = "expired 23 hours ago, by this host's clock"
	if err == nil || !strings.Contains(said.String(), want) {
		s.T.Errorf("joining a day late: %v, %q, want %q", err, said.String(), want)
	}
}
