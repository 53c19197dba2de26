//go:build soak

package clocks

import (
	"score/tests/daemons"
	"testing"
	"time"
)

// Clocks of three servers' hosts and of agents' are stepped while gangs take turns and jobs are
// submitted, and the leader dies under clocks that differ by hours: what was acknowledged runs
// once, no node is lost, and gangs go on taking turns.
func TestSteppedServers(t *testing.T) {
	s := newScene(t, 3, 3)
	var ids []uint64
	for _, gang := range s.gangs {
		id, err := gang.ID(s.Ctx)
		s.Check(err)
		ids = append(ids, id)
	}
	load := s.Load(s.Ctx, 3, "n3") // where no gang's slices depend on it
	s.Check(load.AwaitAccepted(s.Ctx, 3))
	leader, err := s.AwaitLeader(s.Ctx, "", s.OtherServers(nil)...)
	s.Check(err)
	for _, d := range []*daemons.Daemon{leader, s.OtherServers(leader)[0], s.Agent("n1")} {
		s.unnoticed(func() {
			for _, by := range []time.Duration{time.Hour, -2 * time.Hour, time.Hour} {
				s.stepped(d, by, load)
			}
		})
	}
	s.elect(load, time.Hour)
	s.elect(load, -time.Hour)
	summary, err := load.Stop(s.Ctx, ids...)
	t.Log(summary)
	s.Check(err)
	s.historyInOrder()
	s.End(s.gangs...)
}

// stepped steps one clock: gangs go on taking turns, and jobs are taken.
func (s *scene) stepped(d *daemons.Daemon, by time.Duration, load *daemons.Load) {
	s.T.Helper()
	turns, err := s.Turns(s.Ctx, s.gangs...)
	s.Check(err)
	began := time.Now()
	s.step(d, by)
	s.goOn()
	s.Check(load.AwaitAccepted(s.Ctx, 3))
	s.tookTurns(turns, began)
}

// elect kills the leader when the clocks of the others' hosts are off.
func (s *scene) elect(load *daemons.Load, by time.Duration) {
	s.T.Helper()
	leader, err := s.AwaitLeader(s.Ctx, "", s.OtherServers(nil)...)
	s.Check(err)
	others := s.OtherServers(leader)
	for _, other := range others {
		s.step(other, by)
	}
	e, err := s.Elect(s.Ctx, load, false)
	s.Check(err)
	s.T.Log(by, ": ", e)
	s.Check(s.TakeTurnsAlone(s.Ctx, s.gangs...))
	s.Check(s.AwaitUp(s.Ctx))
	s.goOn()
	s.runs()
	for _, other := range others {
		s.step(other, -by)
	}
}
