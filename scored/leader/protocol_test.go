package leader

import (
	"errors"
	"score/scored/api/protocol"
	"score/scored/api/scorev1"
	"score/scored/state"
	"score/scored/state/statepb"
	"strings"
	"testing"
	"time"
)

// TestNothingNewInAnOldLog: no command is written that a server of an earlier version could not
// apply.
func TestNothingNewInAnOldLog(t *testing.T) {
	old := func() *state.State {
		log := newWorldIn(t, protocol.First).log
		node := &statepb.Command{Command: &statepb.Command_RegisterNode{RegisterNode: &statepb.RegisterNode{Node: &statepb.Node{Name: "n9", Cpus: 1}}}}
		if err := log.Apply(&statepb.Entry{TimeNanos: 1, Commands: []*statepb.Command{node}}); err != nil {
			t.Fatal(err)
		}
		return log
	}
	benchIn(t, old, func(t *testing.T, l *Leader, r *fakeReplica) {
		set := func() error {
			_, err := l.SetSettings(t.Context(), &scorev1.Settings{History: 5}, []string{"history"})
			return err
		}
		if err := set(); !errors.Is(err, ErrState) || !strings.Contains(err.Error(), "this needs protocol 2, and the log is written in protocol 1") {
			t.Errorf("in the first protocol: %v", err)
		}
		for range 2 { // the second time it is so already
			if err := l.Raise(t.Context(), protocol.History); err != nil {
				t.Fatal(err)
			}
		}
		if err := set(); err != nil {
			t.Error(err)
		}
		if n := strings.Count(strings.Join(r.log(), " "), "Raise"); n != 1 || l.Protocol() != protocol.History {
			t.Errorf("raised %d times, to %d", n, l.Protocol())
		}
		r.Read(func(s *state.State) {
			if state.FinishedOf(s.Settings()) != 5 {
				t.Errorf("settings %v", s.Settings())
			}
		})
	})
}

func TestServersOfOtherVersions(t *testing.T) {
	bench(t, func(t *testing.T, l *Leader, _ *fakeReplica) {
		if err := l.Raise(t.Context(), 2); err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			program *scorev1.ProgramVersion
			want    string
		}{
			{&scorev1.ProgramVersion{ProtocolOldest: 1, ProtocolNewest: 2}, ""},
			{&scorev1.ProgramVersion{ProtocolOldest: 2, ProtocolNewest: 9}, ""},
			{nil, "server s9 is too old: its version  understands protocol 1, and the cluster's log is written in protocol 2; upgrade it"},
			{
				&scorev1.ProgramVersion{Build: "v9", ProtocolOldest: 3, ProtocolNewest: 4},
				"server s9 is too new: its version v9 understands protocols 3 to 4, and the cluster's log is written in protocol 2; upgrade the other servers first, all of them",
			},
		} {
			if got := l.MayBeServer("s9", c.program); got != c.want {
				t.Errorf("%v: %q", c.program, got)
			}
		}
	})
}

// TestNewClustersBeginWithTheNewest: a new cluster uses the newest protocol, since it has one
// server.
func TestNewClustersBeginWithTheNewest(t *testing.T) {
	benchIn(t, state.New, func(t *testing.T, l *Leader, r *fakeReplica) {
		join(t, l, "n1")
		time.Sleep(time.Second) // of virtual time
		if l.Protocol() != protocol.Own().Newest || !strings.HasPrefix(r.log()[0], "Raise") {
			t.Errorf("protocol %d, log %v", l.Protocol(), r.log())
		}
	})
}
