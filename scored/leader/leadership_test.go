package leader

import (
	"errors"
	"score/scored/api/scorev1"
	"score/scored/replica"
	"testing"
	"testing/synctest"
	"time"
)

// Calls that need no waiting are refused at once while another server leads, and change nothing.
// Calls that wait for a leader are answered when there is one.
func TestAnotherLeads(t *testing.T) {
	bench(t, func(t *testing.T, l *Leader, r *fakeReplica) {
		r.setLeader("s2")
		r.leadership <- replica.Leadership{}
		synctest.Wait()
		if l.Leads() {
			t.Error("it leads still")
		}
		start := time.Now()
		if _, err := l.Submit(t.Context(), &scorev1.JobSpec{Tasks: 1, Argv: []string{"a"}}, ada, owner); !errors.Is(err, ErrElsewhere) {
			t.Errorf("submitted: %v", err)
		}
		if took := time.Since(start); took > time.Second {
			t.Errorf("it took %v to say so", took)
		}
		l.Disconnect("n1", newChanLink()) // dropped
		answer := make(chan error, 1)
		r.setLeader("") // no server leads for a while
		go func() {
			_, err := listJobs(t.Context(), l, false, "", owner)
			answer <- err
		}()
		synctest.Wait()
		r.leadership <- replica.Leadership{Leader: true, Term: 2}
		if err := <-answer; err != nil {
			t.Errorf("who waited for a leader: %v", err)
		}
		if got := r.log(); len(got) != 0 {
			t.Errorf("the log has %v", got)
		}
	})
}

// A leader that was stopped while another was elected acts on none of its timers: agents and
// clients must connect again.
func TestLeaderStoodStill(t *testing.T) {
	bench(t, func(t *testing.T, l *Leader, r *fakeReplica) {
		link := join(t, l, "n1")
		id, err := l.Submit(t.Context(), &scorev1.JobSpec{Tasks: 1, Argv: []string{"a"}}, ada, owner)
		if err != nil {
			t.Fatal(err)
		}
		asked := make(chan error, 1)
		go func() { _, err := l.RankStates(t.Context(), id, owner); asked <- err }()
		synctest.Wait()
		for len(link.messages) > 0 {
			<-link.messages
		}
		committed := len(r.log())
		r.setLeader("s2") // and this server does not know yet
		time.Sleep(OwnerGrace + NodeGrace)
		synctest.Wait()
		for len(link.messages) > 0 {
			t.Errorf("the agent got %q", messageText(<-link.messages))
		}
		if got := r.log(); len(got) != committed {
			t.Errorf("committed: %v", got[committed:])
		}
		if reason := <-link.closed; reason != "" {
			t.Errorf("the agent was refused: %q", reason)
		}
		select {
		case err := <-asked:
			if !errors.Is(err, ErrLost) && err != nil {
				t.Errorf("a waiting caller got %v", err)
			}
		default:
			t.Error("who waited for nodes waits still")
		}
		if err := l.Fresh(t.Context()); err != nil {
			t.Errorf("it does not lead, so its readers wait: %v", err)
		}
	})
}

// Readers get no answer from a server that was replaced as the leader.
func TestFresh(t *testing.T) {
	bench(t, func(t *testing.T, l *Leader, r *fakeReplica) {
		if err := l.Fresh(t.Context()); err != nil {
			t.Errorf("it leads: %v", err)
		}
		r.setLeader("s2")
		if err := l.Fresh(t.Context()); !errors.Is(err, ErrNoLeader) && l.Leads() {
			t.Errorf("another leads: %v", err)
		}
	})
}
