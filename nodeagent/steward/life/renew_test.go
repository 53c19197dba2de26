package life

import (
	"slices"
	"testing"
	"time"
)

// over is a machine with an attached job whose end and output are told.
func over(t *testing.T, m *Machine) {
	t.Helper()
	m.Launch(epoch)
	m.Started(epoch, 0)
	m.StartEnded(epoch)
	m.Exited(epoch, 0, Exit{})
	m.Swept(epoch)
	m.Drained(epoch)
	expect(t, m, "start", "report-launched", "report-exit 0", "sweep", "report-done")
}

func TestRecycledIsLikeNew(t *testing.T) {
	m := ready(Rules{Ranks: 1})
	for range 3 {
		over(t, m)
		m.Recycle(epoch)
		expect(t, m, "renew")
		if m.Prepare(epoch, Rules{Ranks: 1}) {
			t.Fatal("took a job while the last is cleaned away")
		}
		m.Renewed(epoch, true)
		expect(t, m, "report-free")
		if m.Phase() != Free || !m.Deadline().IsZero() {
			t.Fatalf("phase %v, deadline %v", m.Phase(), m.Deadline())
		}
		if m.ranks != nil || m.forgotten || m.drained || m.started || m.again {
			t.Fatalf("%+v is left of the job", m.job)
		}
		if !m.Prepare(epoch, Rules{Ranks: 1}) {
			t.Fatal("does not take the next job")
		}
		m.Prepared(epoch, false)
	}
}

func TestWhoIsNotUsedAgain(t *testing.T) {
	for _, tt := range []struct {
		name  string
		rules Rules
		does  func(*Machine)
		want  []string // after Recycle
	}{
		{"clean", Rules{}, func(m *Machine) { m.Exited(epoch, 0, Exit{}); m.Swept(epoch); m.Drained(epoch) }, []string{"renew"}},
		{"bad exit", Rules{}, func(m *Machine) { m.Exited(epoch, 0, Exit{Code: 1}); m.Swept(epoch); m.Drained(epoch) }, []string{"renew"}},
		{"detached", Rules{Detached: true}, func(m *Machine) { m.Exited(epoch, 0, Exit{}); m.Swept(epoch) }, []string{"renew"}},
		{"died by a signal", Rules{}, func(m *Machine) { m.Exited(epoch, 0, Exit{Signal: 11}); m.Swept(epoch); m.Drained(epoch) }, []string{"leave"}},
		{"killed", Rules{}, func(m *Machine) {
			m.Kill(epoch)
			m.Exited(epoch, 0, Exit{Signal: 9})
			m.Swept(epoch)
			m.Drained(epoch)
		}, []string{"leave"}},
		{"aborted", Rules{}, func(m *Machine) {
			m.Abort(epoch, Abort{Rank: 0})
			m.Exited(epoch, 0, Exit{})
			m.Swept(epoch)
			m.Drained(epoch)
		}, []string{"leave"}},
		{"still running", Rules{}, func(*Machine) {}, []string{"kill"}},
		{"output not read yet", Rules{}, func(m *Machine) { m.Exited(epoch, 0, Exit{}); m.Swept(epoch) }, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.rules.Ranks = 1
			m := running(t, tt.rules)
			tt.does(m)
			m.Take()
			m.Recycle(epoch)
			expect(t, m, tt.want...)
		})
	}
}

func TestOutputDecidesLate(t *testing.T) {
	late := func(t *testing.T) *Machine {
		m := running(t, Rules{Ranks: 1})
		m.Exited(epoch, 0, Exit{})
		m.Swept(epoch)
		m.Take()
		m.Recycle(epoch)
		return m
	}
	t.Run("read", func(t *testing.T) {
		m := late(t)
		m.Drained(at(time.Second))
		expect(t, m, "renew")
	})
	t.Run("never read", func(t *testing.T) {
		m := late(t)
		m.Tick(m.Deadline())
		expect(t, m, "leave")
	})
}

func TestFailedPreparationIsNoReasonToLeave(t *testing.T) {
	m := New(epoch, Config{Grace: grace})
	m.AgentBack(epoch)
	m.Prepare(epoch, Rules{Ranks: 2})
	m.NotPrepared(epoch)
	m.Recycle(epoch)
	expect(t, m, "renew")
}

func TestAFreeStewardIsNotRecycled(t *testing.T) {
	m := New(epoch, Config{Grace: grace})
	m.AgentBack(epoch)
	m.Recycle(epoch)
	expect(t, m, "leave")
}

func TestNotRenewed(t *testing.T) {
	m := ready(Rules{Ranks: 1})
	over(t, m)
	m.Recycle(epoch)
	m.Renewed(epoch, false)
	expect(t, m, "renew", "leave")
	m.Renewed(epoch, true)
	expect(t, m)
}

func TestNothingDisturbsRenewing(t *testing.T) {
	m := ready(Rules{Ranks: 1})
	over(t, m)
	m.Recycle(epoch)
	expect(t, m, "renew")
	m.Kill(epoch)
	m.Launch(epoch)
	m.Forget(epoch)
	m.Tick(at(renewWait - 1))
	expect(t, m)
	if want := at(renewWait); !m.Deadline().Equal(want) {
		t.Fatalf("deadline %v, want %v", m.Deadline(), want)
	}
	m.Tick(m.Deadline())
	expect(t, m, "leave")
}

func TestAgentLostWhileRenewing(t *testing.T) {
	m := ready(Rules{Ranks: 1})
	over(t, m)
	m.Recycle(epoch)
	m.AgentLost(at(renewWait / 4))
	m.Renewed(at(renewWait/2), true)
	expect(t, m, "renew", "report-free")
	if want := at(renewWait/4 + grace); !m.Deadline().Equal(want) {
		t.Fatalf("deadline %v, want %v", m.Deadline(), want)
	}
	m.Tick(m.Deadline())
	expect(t, m, "leave")
}

func TestJobsOfOneStewardAreBounded(t *testing.T) {
	m := ready(Rules{Ranks: 1})
	for n := 1; ; n++ {
		over(t, m)
		m.Recycle(epoch)
		if got := kinds(m); slices.Equal(got, []string{"leave"}) {
			if n != maxJobs {
				t.Errorf("left after %d jobs, not %d", n, maxJobs)
			}
			return
		} else if !slices.Equal(got, []string{"renew"}) {
			t.Fatalf("orders %q", got)
		}
		m.Renewed(epoch, true)
		expect(t, m, "report-free")
		m.Prepare(epoch, Rules{Ranks: 1})
		m.Prepared(epoch, false)
	}
}
