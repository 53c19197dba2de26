package life

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

const grace = 30 * time.Second

var epoch = time.Unix(1000, 0)

func at(d time.Duration) time.Time { return epoch.Add(d) }

// kinds takes the orders and names them, with the rank where there is one.
func kinds(m *Machine) []string {
	var names []string
	for _, o := range m.Take() {
		switch o.Kind {
		case ReportExit:
			names = append(names, fmt.Sprintf("%v %d", o.Kind, o.Rank))
		case Respawn:
			names = append(names, fmt.Sprintf("%v %d %d", o.Kind, o.Rank, o.Incarnation))
		case ReportAbort:
			names = append(names, fmt.Sprintf("%v %d %d %s", o.Kind, o.Abort.Rank, o.Abort.ExitCode, o.Abort.Message))
		default:
			names = append(names, o.Kind.String())
		}
	}
	return names
}

func expect(t *testing.T, m *Machine, want ...string) {
	t.Helper()
	if got := kinds(m); !slices.Equal(got, want) {
		t.Fatalf("orders %q, want %q", got, want)
	}
}

// ready is a machine with an agent and a job that is Ready.
func ready(rules Rules) *Machine {
	m := New(epoch, Config{Grace: grace})
	m.AgentBack(epoch)
	m.Prepare(epoch, rules)
	m.Prepared(epoch, rules.Silent)
	return m
}

// running is a machine whose ranks all run.
func running(t *testing.T, rules Rules) *Machine {
	t.Helper()
	m := ready(rules)
	m.Launch(epoch)
	expect(t, m, "start")
	for k := range rules.Ranks {
		m.Started(epoch, k)
	}
	m.StartEnded(epoch)
	expect(t, m, "report-launched")
	return m
}

func TestCleanEnd(t *testing.T) {
	m := running(t, Rules{Ranks: 2})
	m.Exited(epoch, 1, Exit{})
	expect(t, m, "report-exit 1")
	m.Exited(epoch, 0, Exit{Code: 3}) // others go on after a bad exit, and none is left
	expect(t, m, "report-exit 0", "sweep")
	m.Swept(epoch)
	expect(t, m, "report-done")
	m.Drained(epoch)
	expect(t, m)
	m.Forget(epoch)
	expect(t, m, "leave")
}

func TestAnEndingGangLeavesTheOthersTime(t *testing.T) {
	m := running(t, Rules{Ranks: 3, Respawn: 2, KillOnBadExit: true})
	m.Spoke(2)
	m.Ending(epoch)
	m.Closed(epoch, 2) // its handler may take a while longer
	m.Tick(epoch.Add(exitAfterClose))
	expect(t, m)
	m.Exited(epoch, 0, Exit{Signal: 15})
	expect(t, m, "report-exit 0")
	m.Exited(epoch, 1, Exit{Code: 1})
	expect(t, m, "report-exit 1")
	m.Kill(epoch)
	m.Exited(epoch, 2, Exit{Signal: 9})
	expect(t, m, "kill", "report-exit 2", "sweep")
}

func TestAGangThatWasNotLaunchedEndsAtOnce(t *testing.T) {
	m := ready(Rules{Ranks: 2})
	m.Ending(epoch)
	m.Launch(epoch)
	expect(t, m, "report-done")
}

func TestRanksMayEndWhileOthersAreForked(t *testing.T) {
	m := ready(Rules{Ranks: 2})
	m.Launch(epoch)
	m.Started(epoch, 0)
	m.Exited(epoch, 0, Exit{})
	expect(t, m, "start", "report-exit 0")
	m.Started(epoch, 1)
	m.Exited(epoch, 1, Exit{})
	expect(t, m, "report-exit 1")
	m.StartEnded(epoch)
	expect(t, m, "report-launched", "sweep")
}

func TestFailureRule(t *testing.T) {
	spoke := func(m *Machine) { m.Spoke(0) }
	finalized := func(m *Machine) { m.Spoke(0); m.Finalized(0) }
	nothing := func(*Machine) {}
	for _, tt := range []struct {
		name   string
		before func(*Machine)
		exit   Exit
		rules  Rules
		ends   bool
		early  bool
	}{
		{"clean", nothing, Exit{}, Rules{}, false, false},
		{"bad exit of a program without PMI", nothing, Exit{Code: 1}, Rules{}, false, false},
		{"bad exit that shall end the gang", nothing, Exit{Code: 1}, Rules{KillOnBadExit: true}, true, false},
		{"signal", nothing, Exit{Signal: 11}, Rules{}, true, false},
		{"signal after finalize", finalized, Exit{Signal: 11}, Rules{}, true, false},
		{"exit before finalize", spoke, Exit{}, Rules{}, true, true},
		{"exit after finalize", finalized, Exit{}, Rules{}, false, false},
		{"bad exit after finalize", finalized, Exit{Code: 2}, Rules{}, false, false},
		{"signal, but others shall go on", nothing, Exit{Signal: 11}, Rules{Recover: true}, false, false},
		{"exit before finalize, but others shall go on", spoke, Exit{}, Rules{Recover: true}, false, true},
		{"out of memory, though others shall go on", nothing, Exit{Signal: 9, OutOfMemory: true}, Rules{Recover: true, Respawn: 3}, true, false},
		{"out of memory", nothing, Exit{Signal: 9, OutOfMemory: true}, Rules{}, true, false},
		{"a shell's command out of memory", nothing, Exit{Code: 137, OutOfMemory: true}, Rules{}, true, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.rules.Ranks = 2
			m := running(t, tt.rules)
			tt.before(m)
			m.Exited(epoch, 0, tt.exit)
			want := []string{"report-exit 0"}
			if tt.ends {
				want = append(want, "kill")
			}
			expect(t, m, want...)
			if _, exit := m.Rank(0); exit.BeforeFinalize != tt.early || exit.ByUs {
				t.Errorf("exit %+v", exit)
			}
		})
	}
}

func TestKilledRanksAreAttributed(t *testing.T) {
	m := running(t, Rules{Ranks: 4})
	m.Exited(epoch, 0, Exit{Signal: 11})
	m.Exited(epoch, 1, Exit{Signal: 9})
	m.Exited(epoch, 2, Exit{Signal: 6}) // it failed by itself, at the same time
	m.Exited(epoch, 3, Exit{Signal: 9, OutOfMemory: true})
	expect(t, m, "report-exit 0", "kill", "report-exit 1", "report-exit 2", "report-exit 3", "sweep")
	for k, want := range []bool{false, true, false, false} {
		if _, exit := m.Rank(k); exit.ByUs != want {
			t.Errorf("rank %d by us: %v, want %v", k, exit.ByUs, want)
		}
	}
}

func TestStartFailureEndsThoseThatRun(t *testing.T) {
	m := ready(Rules{Ranks: 3})
	m.Launch(epoch)
	m.Started(epoch, 0)
	m.StartFailed(epoch, Abort{Rank: 1, ExitCode: 126, Message: "no memory"})
	expect(t, m, "start", "report-abort 1 126 no memory", "kill")
	m.StartEnded(epoch)
	expect(t, m)
	m.Exited(epoch, 0, Exit{Signal: 9})
	expect(t, m, "report-exit 0", "sweep")
}

func TestStartFailureOfTheFirst(t *testing.T) {
	m := ready(Rules{Ranks: 2})
	m.Launch(epoch)
	m.StartFailed(epoch, Abort{Rank: 0, ExitCode: 125, Message: "x"})
	m.StartEnded(epoch)
	expect(t, m, "start", "report-abort 0 125 x", "kill", "sweep")
}

func TestKillInEveryPhase(t *testing.T) {
	t.Run("preparing", func(t *testing.T) {
		m := New(epoch, Config{Grace: grace})
		m.AgentBack(epoch)
		m.Prepare(epoch, Rules{Ranks: 1})
		m.Kill(epoch)
		expect(t, m, "report-done")
		m.Prepared(epoch, false)
		m.Launch(epoch)
		expect(t, m)
	})
	t.Run("ready", func(t *testing.T) {
		m := ready(Rules{Ranks: 1})
		m.Kill(epoch)
		m.Kill(epoch)
		expect(t, m, "report-done", "report-done")
	})
	t.Run("starting", func(t *testing.T) {
		m := ready(Rules{Ranks: 3})
		m.Launch(epoch)
		m.Started(epoch, 0)
		m.Kill(epoch)
		m.Started(epoch, 1) // was under way
		expect(t, m, "start", "kill", "kill")
		m.StartEnded(epoch)
		m.Exited(epoch, 0, Exit{Signal: 9})
		m.Exited(epoch, 1, Exit{Signal: 9})
		expect(t, m, "report-exit 0", "report-exit 1", "sweep")
	})
	t.Run("running", func(t *testing.T) {
		m := running(t, Rules{Ranks: 1})
		m.Kill(epoch)
		m.Kill(epoch)
		expect(t, m, "kill")
	})
	t.Run("a failed preparation", func(t *testing.T) {
		m := New(epoch, Config{Grace: grace})
		m.AgentBack(epoch)
		m.Prepare(epoch, Rules{Ranks: 1})
		m.NotPrepared(epoch)
		expect(t, m)
		m.Kill(epoch)
		expect(t, m, "report-done")
		m.Forget(epoch)
		expect(t, m, "leave")
	})
}

func TestAbortIsToldOnce(t *testing.T) {
	m := running(t, Rules{Ranks: 2})
	m.Abort(epoch, Abort{Rank: 1, ExitCode: 7, Message: "a"})
	m.Abort(epoch, Abort{Rank: 0, ExitCode: 8, Message: "b"})
	expect(t, m, "report-abort 1 7 a", "kill")
}

func TestAbortAfterTheAgentsKillIsNoNews(t *testing.T) {
	m := running(t, Rules{Ranks: 2})
	m.Kill(epoch)
	m.Abort(epoch, Abort{Rank: 0, ExitCode: 8, Message: "b"})
	expect(t, m, "kill")
}

func TestConnectionClosedTooEarly(t *testing.T) {
	m := running(t, Rules{Ranks: 2})
	m.Spoke(0)
	m.Closed(epoch, 0)
	if d := m.Deadline(); !d.Equal(at(exitAfterClose)) {
		t.Fatalf("deadline %v", d)
	}
	m.Tick(at(exitAfterClose - 1))
	expect(t, m)
	m.Tick(at(exitAfterClose))
	expect(t, m, "report-abort 0 1 closed its PMI connection without finalize", "kill")
}

func TestExitStatusBeatsClosedConnection(t *testing.T) {
	m := running(t, Rules{Ranks: 2})
	m.Spoke(0)
	m.Closed(epoch, 0)
	m.Exited(epoch, 0, Exit{Signal: 11})
	m.Tick(at(time.Hour))
	expect(t, m, "report-exit 0", "kill")
}

func TestSilenceIsNotedOnce(t *testing.T) {
	m := running(t, Rules{Ranks: 2, Silent: true})
	if d := m.Deadline(); !d.Equal(at(silenceNote)) {
		t.Fatalf("deadline %v", d)
	}
	m.Tick(at(silenceNote))
	expect(t, m, "note-silence")
	m.Exited(at(time.Minute), 0, Exit{})
	m.Exited(at(time.Minute), 1, Exit{})
	expect(t, m, "report-exit 0", "report-exit 1", "sweep")

	m = running(t, Rules{Ranks: 1, Silent: true})
	m.Exited(epoch, 0, Exit{})
	expect(t, m, "report-exit 0", "note-silence", "sweep")

	m = running(t, Rules{Ranks: 1, Silent: true})
	m.Spoke(0)
	m.Tick(at(silenceNote))
	expect(t, m)
}

func TestAgentLost(t *testing.T) {
	m := running(t, Rules{Ranks: 1})
	m.AgentLost(epoch)
	if d := m.Deadline(); !d.Equal(at(grace)) {
		t.Fatalf("deadline %v", d)
	}
	m.Tick(at(grace - 1))
	expect(t, m)
	m.AgentBack(at(grace - 1))
	m.Tick(at(time.Hour))
	expect(t, m)

	m.AgentLost(at(time.Hour))
	m.Tick(at(time.Hour + grace))
	expect(t, m, "kill")
	m.Exited(at(2*time.Hour), 0, Exit{Signal: 9})
	m.Swept(at(2 * time.Hour))
	m.Tick(at(2 * time.Hour))
	expect(t, m, "report-exit 0", "sweep", "report-done", "leave")
}

func TestNoGraceEndsAtOnce(t *testing.T) {
	m := New(epoch, Config{})
	m.Tick(at(firstContact - 1))
	expect(t, m) // even then the agent has time to connect
	m.AgentBack(epoch)
	m.AgentLost(epoch)
	expect(t, m, "leave")
}

func TestNobodyEverConnects(t *testing.T) {
	m := New(epoch, Config{Grace: time.Second})
	if d := m.Deadline(); !d.Equal(at(firstContact)) {
		t.Fatalf("deadline %v", d)
	}
	m.Tick(at(firstContact))
	expect(t, m, "leave")
}

func TestLeaving(t *testing.T) {
	over := func(rules Rules) *Machine {
		m := running(t, rules)
		m.Exited(epoch, 0, Exit{})
		m.Swept(epoch)
		kinds(m)
		return m
	}
	rules := Rules{Ranks: 1}
	t.Run("a reader may still come", func(t *testing.T) {
		m := over(rules)
		m.Forget(epoch)
		m.Tick(at(drainLinger - 1))
		expect(t, m)
		m.Tick(at(drainLinger))
		expect(t, m, "leave")
	})
	t.Run("a slow reader has all its time", func(t *testing.T) {
		m := over(rules)
		m.Reader(epoch, true)
		m.Forget(epoch)
		m.Tick(at(24 * time.Hour))
		expect(t, m)
		if !m.Deadline().IsZero() {
			t.Error("has a deadline")
		}
		m.Drained(at(25 * time.Hour))
		expect(t, m, "leave")
	})
	t.Run("a reader that hangs up may be followed by another", func(t *testing.T) {
		m := over(rules)
		m.Reader(epoch, true)
		m.Forget(epoch)
		m.Reader(at(time.Hour), false)
		expect(t, m)
		m.Tick(at(time.Hour + drainLinger))
		expect(t, m, "leave")
	})
	t.Run("detached output is owed to nobody", func(t *testing.T) {
		m := over(Rules{Ranks: 1, Detached: true})
		m.Forget(epoch)
		expect(t, m, "leave")
	})
	t.Run("the order to forget never comes", func(t *testing.T) {
		m := over(rules)
		m.Drained(epoch)
		expect(t, m)
		m.Tick(at(forgetWait))
		expect(t, m, "leave")
	})
	t.Run("forgotten while it runs", func(t *testing.T) {
		m := running(t, rules)
		m.Forget(epoch)
		expect(t, m, "kill")
	})
	t.Run("forgotten while free", func(t *testing.T) {
		m := New(epoch, Config{Grace: grace})
		m.AgentBack(epoch)
		m.Forget(epoch)
		expect(t, m, "leave")
	})
}

func TestASecondJobIsRefused(t *testing.T) {
	m := ready(Rules{Ranks: 1})
	if m.Prepare(epoch, Rules{Ranks: 5}) {
		t.Fatal("took a second job")
	}
	if s, _ := m.Rank(0); s != Unborn {
		t.Fatal("the first job changed")
	}
}

func TestNames(t *testing.T) {
	for p := Free; p <= Gone; p++ {
		if p.String() == "" {
			t.Errorf("phase %d has no name", p)
		}
	}
	for k := Start; k <= Leave; k++ {
		if k.String() == "" {
			t.Errorf("order %d has no name", k)
		}
	}
}
