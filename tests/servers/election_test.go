//go:build soak

package servers

import (
	"score/tests/daemons"
	"testing"
	"time"
)

const (
	// elections of each kind are tried.
	elections = 2
	// electedWithin and blockedFor are ten times the 2 s and 3 s that it may take.
	electedWithin = 20 * time.Second
	blockedFor    = 30 * time.Second
)

// The leader dies, or is stopped: another leads, jobs are taken and run, and the gangs go on taking
// turns meanwhile, by themselves.
func TestElections(t *testing.T) {
	t.Parallel()
	s := newScene(t, daemons.Options{Nodes: 3})
	var gangs []*daemons.Job
	var ids []uint64
	for _, name := range []string{"a", "b"} {
		gang, err := s.ExchangeInTurn(name, "n1,n2", 2)
		s.Check(err)
		s.goesOn(gang)
		id, err := gang.ID(s.Ctx)
		s.Check(err)
		gangs, ids = append(gangs, gang), append(ids, id)
	}
	load := s.Load(s.Ctx, len(servers), "n3") // where no gang's slices depend on it
	s.Check(load.AwaitAccepted(s.Ctx, len(servers)))
	for i := range 2 * elections {
		stop := i%2 == 1
		e, err := s.Elect(s.Ctx, load, stop)
		s.Check(err)
		t.Log(e)
		if e.Elected > electedWithin || e.Blocked > blockedFor {
			t.Errorf("the election took too long: %v", e)
		}
		s.Check(s.TakeTurnsAlone(s.Ctx, gangs...))
		for _, gang := range gangs {
			s.goesOn(gang)
		}
	}
	summary, err := load.Stop(s.Ctx, ids...)
	t.Log(summary)
	s.Check(err)
	s.End(gangs...)
}

// Servers are added, removed and replaced one by one, the leader among them, and the leader is
// killed again and again, while jobs are submitted: what was acknowledged runs once.
func TestReplaced(t *testing.T) {
	t.Parallel()
	s := newScene(t, daemons.Options{Nodes: 1})
	load := s.Load(s.Ctx, len(servers), "n1")
	goOn := func() { s.T.Helper(); s.Check(load.AwaitAccepted(s.Ctx, len(servers))) }
	goOn()
	_, err := s.AddServer(s.Ctx, "s4")
	s.Check(err)
	goOn()
	s.Check(s.RemoveServer(s.Ctx, s.leader("")))
	goOn()
	s.Check(s.StepDown(s.Ctx))
	goOn()
	for i, old := range s.OtherServers(nil) {
		leader := s.leader("")
		leader.Kill()
		s.leader(leader.Name, s.OtherServers(leader)...)
		s.Check(leader.Start())
		s.leader("")
		goOn()
		_, err := s.AddServer(s.Ctx, []string{"s5", "s6", "s7"}[i])
		s.Check(err)
		s.Check(s.RemoveServer(s.Ctx, old))
		goOn()
	}
	summary, err := load.Stop(s.Ctx)
	t.Log(summary)
	s.Check(err)
	s.End()
}
