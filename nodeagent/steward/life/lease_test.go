package life

import (
	"testing"
	"time"
)

func TestLeaseLapses(t *testing.T) {
	m := ready(Rules{Ranks: 1})
	m.Lease(epoch, at(10*time.Second))
	m.Launch(epoch)
	m.Started(epoch, 0)
	m.StartEnded(epoch)
	expect(t, m, "start", "report-launched")
	m.Lease(at(5*time.Second), at(14*time.Second))
	m.Lease(at(6*time.Second), at(12*time.Second)) // a heartbeat that was late: no shorter
	if m.Deadline() != at(14*time.Second) {
		t.Fatalf("deadline %v", m.Deadline())
	}
	m.Tick(at(14*time.Second - 1))
	expect(t, m)
	m.Tick(at(14 * time.Second)) // though the agent is there
	expect(t, m, "report-abort -1 0 ", "kill")
	if !m.Deadline().IsZero() {
		t.Errorf("deadline %v after the lapse", m.Deadline())
	}
	m.Lease(at(15*time.Second), at(25*time.Second)) // too late
	m.Exited(at(15*time.Second), 0, Exit{Signal: sigkill})
	expect(t, m, "report-exit 0", "sweep")
	m.Swept(at(15 * time.Second))
	expect(t, m, "report-done")
}

// Nothing starts after the lease has lapsed.
func TestLeaseLapsesBeforeTheStart(t *testing.T) {
	m := ready(Rules{Ranks: 1})
	m.Lease(epoch, at(10*time.Second))
	m.AgentLost(at(time.Second))
	m.Tick(at(10 * time.Second))
	expect(t, m, "report-abort -1 0 ", "report-done")
	m.Launch(at(11 * time.Second))
	expect(t, m)
}

// The lease is one job's; the next one has none.
func TestLeaseIsOfOneJob(t *testing.T) {
	m := running(t, Rules{Ranks: 1})
	m.Lease(epoch, at(10*time.Second))
	m.Exited(epoch, 0, Exit{})
	m.Swept(epoch)
	m.Drained(epoch)
	m.Recycle(epoch)
	m.Renewed(epoch, true)
	m.Prepare(epoch, Rules{Ranks: 1})
	m.Prepared(epoch, false)
	m.Take()
	m.Tick(at(time.Minute))
	expect(t, m)
}
