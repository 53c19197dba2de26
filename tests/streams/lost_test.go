package streams

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"score/tests/daemons"
	"score/tests/daemons/daemonstest"
	"testing"
	"time"
)

// flowing is input that is on its way for long enough that a daemon can be lost meanwhile, and more
// than daemons hold of it.
const flowing = 8 << 20

// ending is output that nodes take from a rank whether or not it is read, so that the job ends
// while it is on its way.
const ending = 150_000

// lossScene has three servers and an agent.
type lossScene struct {
	*daemonstest.Scene
	data []byte
	file string // has data
}

// loss is what happens to a daemon on the way.
type loss struct {
	name    string
	who     func(follower, leader *daemons.Daemon) *daemons.Daemon
	lose    func(*daemons.Daemon)
	byAgent bool // scrun asks the agent instead of a follower
}

// Whatever daemon on the way is killed or stopped, while input and output flow or while the job
// ends: each byte comes once.
func TestNothingIsLost(t *testing.T) {
	s := &lossScene{Scene: daemonstest.NewScene(t, daemons.Options{Bin: bin, Servers: 3, Nodes: 1, Grace: time.Minute})}
	s.data, s.file = random(t, flowing), filepath.Join(s.Dir, "data")
	s.Check(os.WriteFile(s.file, s.data, 0o600))
	kill := func(d *daemons.Daemon) { d.Kill(); <-d.Ended() }
	stop := func(d *daemons.Daemon) { _ = d.Stop() } // how it ends does not matter here
	follower := func(follower, _ *daemons.Daemon) *daemons.Daemon { return follower }
	leader := func(_, leader *daemons.Daemon) *daemons.Daemon { return leader }
	agent := func(_, _ *daemons.Daemon) *daemons.Daemon { return s.Agent("n1") }
	for _, tt := range []loss{
		{"follower killed", follower, kill, false},
		{"follower stopped", follower, stop, false},
		{"leader killed", leader, kill, false},
		{"leader stopped", leader, stop, false},
		{"agent killed", agent, kill, false},
		{"leader killed behind an agent", leader, kill, true},
		{"leader stopped behind an agent", leader, stop, true},
		{"agent killed that was asked", agent, kill, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s.flow(t, s.data, s.data[:len(s.data)/2], tt, "cat")
			s.flow(t, s.data[:ending], s.data[:1], tt, "head", "-c", fmt.Sprint(ending), s.file)
		})
	}
	s.End()
}

// flow has a job give out what is wanted, and a daemon lost once the first part of that has come.
func (s *lossScene) flow(t *testing.T, want, first []byte, l loss, program ...string) {
	t.Helper()
	leader, err := s.AwaitLeader(s.Ctx, "", s.OtherServers(nil)...)
	s.Check(err)
	follower := s.OtherServers(leader)[0]
	s.Check(s.AwaitUp(s.Ctx))
	socket := follower.Socket
	if l.byAgent {
		socket = filepath.Join(s.Dir, "n1.sock")
	}
	command := scrun(s.Cluster, socket, 0, append([]string{"-q", "-n", "1"}, program...)...)
	said := new(bytes.Buffer)
	command.Stdin, command.Stderr = bytes.NewReader(want), said
	output, err := command.StdoutPipe()
	s.Check(err)
	s.Check(command.Start())
	defer time.AfterFunc(echoed, func() { _ = command.Process.Kill() }).Stop()
	got := make([]byte, len(first))
	if _, err := io.ReadFull(output, got); err != nil {
		t.Errorf("nothing came before the loss: %v", err)
	}
	lost := l.who(follower, leader)
	l.lose(lost)
	s.Check(lost.Start())
	rest, err := io.ReadAll(output)
	s.Check(err)
	if err := command.Wait(); err != nil {
		t.Errorf("%v: %s", err, said)
	}
	if got = append(got, rest...); !bytes.Equal(got, want) {
		t.Errorf("%d bytes came of %d, or others: %s", len(got), len(want), said)
	}
}
