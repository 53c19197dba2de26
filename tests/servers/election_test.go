package servers

import (
	"testing"
	"time"

	"score/tests/daemons"
)

const (
	// elections of each kind are tried.
	elections = 2
	// electedWithin and blockedFor are ten times the 2 s and 3 s that it may take.
	electedWithin = 20 * time.Second
	blockedFor    = 30 * time.Second
)

// The leader dies, or is stopped: another leads, jobs are taken and run, and the gangs go on taking turns meanwhile, by
// themselves.
func TestElections(t *testing.T) {
	needLong(t)
	t.Parallel()
	s := newScene(t, daemons.Options{Nodes: 3})
	var gangs []*daemons.Job
	var ids []uint64
	for _, name := range []string{"a", "b"} {
		gang, err := s.ExchangeInTurn(name, "n1,n2", 2)
		s.check(err)
		s.goesOn(gang)
		id, err := gang.ID(s.ctx)
		s.check(err)
		gangs, ids = append(gangs, gang), append(ids, id)
	}
	load := s.Load(s.ctx, len(servers), "n3") // where no gang's slices depend on it
	s.check(load.AwaitAccepted(s.ctx, len(servers)))
	for i := range 2 * elections {
		stop := i%2 == 1
		e, err := s.Elect(s.ctx, load, stop, gangs...)
		s.check(err)
		t.Log(e)
		if e.Elected > electedWithin || e.Blocked > blockedFor {
			t.Errorf("the election took too long: %v", e)
		}
		if !e.TookTurns() {
			t.Errorf("gangs did not take turns while there was no leader: %v", e)
		}
		for _, gang := range gangs {
			s.goesOn(gang)
		}
	}
	summary, err := load.Stop(s.ctx, ids...)
	t.Log(summary)
	s.check(err)
	s.end(gangs...)
}

// Servers are added, removed and replaced one by one, the leader among them, and the leader is killed again and again,
// while jobs are submitted: what was acknowledged runs once.
func TestReplaced(t *testing.T) {
	needLong(t)
	t.Parallel()
	s := newScene(t, daemons.Options{Nodes: 1})
	load := s.Load(s.ctx, len(servers), "n1")
	goOn := func() { s.t.Helper(); s.check(load.AwaitAccepted(s.ctx, len(servers))) }
	goOn()
	_, err := s.AddServer(s.ctx, "s4")
	s.check(err)
	goOn()
	s.check(s.RemoveServer(s.ctx, s.leader("")))
	goOn()
	s.check(s.StepDown(s.ctx))
	goOn()
	for i, old := range s.OtherServers(nil) {
		leader := s.leader("")
		leader.Kill()
		s.leader(leader.Name, s.OtherServers(leader)...)
		s.check(leader.Start())
		s.leader("")
		goOn()
		_, err := s.AddServer(s.ctx, []string{"s5", "s6", "s7"}[i])
		s.check(err)
		s.check(s.RemoveServer(s.ctx, old))
		goOn()
	}
	summary, err := load.Stop(s.ctx)
	t.Log(summary)
	s.check(err)
	s.end()
}
