package life

import "testing"

func TestRespawn(t *testing.T) {
	m := running(t, Rules{Ranks: 2, Respawn: 2})
	m.Spoke(0)
	m.Closed(epoch, 0) // its exit says what is to be done
	if !m.Deadline().IsZero() {
		t.Errorf("deadline %v", m.Deadline())
	}
	m.Exited(epoch, 0, Exit{Signal: 11})
	expect(t, m, "respawn 0 1")
	m.Exited(epoch, 1, Exit{})
	expect(t, m, "report-exit 1") // and no sweep
	m.Respawned(epoch, 0)
	m.Exited(epoch, 0, Exit{Code: 3})
	expect(t, m, "respawn 0 2")
	m.Respawned(epoch, 0)
	m.Spoke(0)
	m.Exited(epoch, 0, Exit{})
	expect(t, m, "report-exit 0", "kill", "sweep")
	if _, exit := m.Rank(0); !exit.BeforeFinalize || exit.Survived {
		t.Errorf("%+v", exit)
	}
	m.Swept(epoch)
	expect(t, m, "report-done")
}

// A clean end is no failure, whatever went before.
func TestNoRespawnAfterACleanEnd(t *testing.T) {
	m := running(t, Rules{Ranks: 1, Respawn: 5})
	m.Exited(epoch, 0, Exit{Signal: 9})
	expect(t, m, "respawn 0 1")
	m.Respawned(epoch, 0)
	m.Exited(epoch, 0, Exit{})
	expect(t, m, "report-exit 0", "sweep")
	m.Swept(epoch)
	m.Drained(epoch)
	m.Recycle(epoch)
	expect(t, m, "report-done", "leave") // something unusual has happened
}

func TestRespawnAsAsked(t *testing.T) {
	m := running(t, Rules{Ranks: 2})
	m.AllowRespawns(1, 1)
	m.Exited(epoch, 1, Exit{Code: 1})
	expect(t, m, "respawn 1 1")
	m.Respawned(epoch, 1)
	m.Exited(epoch, 0, Exit{Signal: 6}) // which has not asked
	expect(t, m, "report-exit 0", "kill")
	m.Exited(epoch, 1, Exit{Signal: 9})
	expect(t, m, "report-exit 1", "sweep")
}

func TestRespawnMeetsTheKill(t *testing.T) {
	m := running(t, Rules{Ranks: 2, Respawn: 1})
	m.Exited(epoch, 0, Exit{Signal: 11})
	m.Exited(epoch, 1, Exit{Signal: 11})
	expect(t, m, "respawn 0 1", "respawn 1 1")
	m.Kill(epoch)
	expect(t, m, "kill")
	m.Respawned(epoch, 0) // it was under way
	expect(t, m, "kill")
	m.RespawnFailed(epoch, 1, Abort{})
	expect(t, m, "report-exit 1")
	m.Exited(epoch, 0, Exit{Signal: 9})
	expect(t, m, "report-exit 0", "sweep")
}

func TestRespawnFails(t *testing.T) {
	m := running(t, Rules{Ranks: 1, Respawn: 1})
	m.Exited(epoch, 0, Exit{Signal: 11})
	m.RespawnFailed(epoch, 0, Abort{Rank: 0, ExitCode: 126, Message: "gone"})
	expect(t, m, "respawn 0 1", "report-exit 0", "report-abort 0 126 gone", "kill", "sweep")
}

// A rank that dies while others are being forked waits for its turn.
func TestRespawnDuringTheStart(t *testing.T) {
	m := ready(Rules{Ranks: 2, Respawn: 1})
	m.Launch(epoch)
	m.Started(epoch, 0)
	m.Exited(epoch, 0, Exit{Signal: 11})
	expect(t, m, "start")
	m.Started(epoch, 1)
	m.StartEnded(epoch)
	expect(t, m, "report-launched", "respawn 0 1")

	m = ready(Rules{Ranks: 2, Respawn: 1})
	m.Launch(epoch)
	m.Started(epoch, 0)
	m.Exited(epoch, 0, Exit{Signal: 11})
	m.Kill(epoch)
	m.StartEnded(epoch)
	expect(t, m, "start", "kill", "report-exit 0", "sweep")
}

// With recovery the gang goes on without who failed.
func TestRecover(t *testing.T) {
	m := running(t, Rules{Ranks: 3, Recover: true})
	m.Exited(epoch, 0, Exit{Signal: 11})
	m.Spoke(1)
	m.Closed(epoch, 1)
	m.Exited(epoch, 1, Exit{Code: 2})
	expect(t, m, "report-exit 0", "report-exit 1")
	for k := range 2 {
		if _, exit := m.Rank(k); !exit.Survived {
			t.Errorf("rank %d: %+v", k, exit)
		}
	}
	m.Exited(epoch, 2, Exit{})
	expect(t, m, "report-exit 2", "sweep")
}
