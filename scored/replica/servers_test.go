package replica

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// How much slower than usual the elections of a test's cluster are. A machine under load keeps a
// replica waiting for longer than the usual timeouts, and an election that the test does not expect
// changes the leader and the term.
const (
	steady   = 40 // for tests without an election: 20 s
	electing = 6  // for tests that wait for one: 3 s, and up to as much again
)

// Committed entries are on all replicas; when the leader is lost, its successor has all of them.
func TestThreeReplicas(t *testing.T) {
	t.Parallel()
	s := begin(t, electing)
	s.commit("a", 1, "n1")
	s.agree("[n1]")
	if err := s.all["a"].Verify(t.Context()); err != nil {
		t.Errorf("the leader asks: %v", err)
	}
	if err := s.all["b"].Verify(t.Context()); err == nil {
		t.Error("a follower was confirmed as the leader")
	}
	start := time.Now()
	s.close("a")
	next, _ := s.leader("b", "c")
	t.Logf("%s leads after %v", next, time.Since(start))
	s.await("it may commit", func() bool {
		return s.all[next].Commit(nodeEntry(s.all[next].raft.CurrentTerm(), 2, "n2")) == nil
	})
	delete(s.plug, "a")
	s.open("a", StartNever)
	s.join(next, "a") // it listens elsewhere
	s.agree("[n1 n2]")
}

// A leader that is cut off steps down within a lease, commits nothing, and returns without causing
// an election.
func TestLeaderIsCutOff(t *testing.T) {
	t.Parallel()
	s := begin(t, electing)
	<-s.leads("a")
	s.wire.set("a", true)
	next, term := s.leader("b", "c")
	if err := s.all["a"].Verify(t.Context()); err == nil {
		t.Error("a replica that is cut off was confirmed as the leader")
	}
	if err := s.all["a"].Commit(nodeEntry(term, 9, "lost")); err == nil {
		t.Error("one that is cut off has committed")
	}
	s.await("it may commit", func() bool { return s.all[next].Commit(nodeEntry(term, 10, "n1")) == nil })
	s.wire.set("a", false)
	s.agree("[n1]")
	if name, now := s.leader("a", "b", "c"); name != next || now != term {
		t.Errorf("%s led in term %d, and %s leads in %d", next, term, name, now)
	}
}

// A follower that was cut off and returns does not depose the leader (pre-vote).
func TestFollowerIsCutOff(t *testing.T) {
	t.Parallel()
	s := begin(t, electing)
	_, term := s.leader("a", "b", "c")
	s.await("a has contact with c", func() bool {
		list, err := s.all["a"].Servers()
		c, _ := find(list, "c")
		return err == nil && c.RoundTrip > 0
	})
	s.wire.set("c", true)
	s.await("c has no leader", func() bool { name, _ := s.all["c"].Leader(); return name == "" })
	s.commit("a", 1, "n1")
	s.await("a says that c is silent", func() bool {
		list, err := s.all["a"].Servers()
		c, _ := find(list, "c")
		return err == nil && !c.Silent.IsZero() && c.Behind > 0
	})
	s.wire.set("c", false)
	s.agree("[n1]")
	s.await("a says that c has everything", func() bool {
		list, err := s.all["a"].Servers()
		c, _ := find(list, "c")
		return err == nil && c.Silent.IsZero() && c.Behind == 0 && c.RoundTrip > 0
	})
	if of, address := s.all["c"].LeaderOf(); of != term || address != s.plug["a"].Addr().String() {
		t.Errorf("c says that %s leads in term %d", address, of)
	}
	if name, now := s.leader("a", "b", "c"); name != "a" || now != term {
		t.Errorf("%s leads in term %d, a led in %d", name, now, term)
	}
}

// A server that was silent when it was removed, and comes again with nothing of before, is not
// taken for silent.
func TestSilentServerIsReplaced(t *testing.T) {
	t.Parallel()
	s := begin(t, steady)
	silent := func() bool {
		list, err := s.all["a"].Servers()
		c, _ := find(list, "c")
		return err != nil || !c.Silent.IsZero()
	}
	s.close("c")
	s.await("c is silent", silent)
	if err := s.all["a"].Remove("c"); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(s.dir, "c")); err != nil {
		t.Fatal(err)
	}
	s.open("c", StartMember)
	s.join("a", "c")
	s.await("c answers", func() bool { return !silent() })
}

// A heartbeat to a server that was removed fails only after the server is a member again, which is
// not taken for silent.
func TestLateFailureOfRemovedServer(t *testing.T) {
	t.Parallel()
	s := begin(t, steady)
	a := s.all["a"]
	s.wire.hold(s.plug["c"].Addr().String())
	s.close("c")
	const calls = 2 // a heartbeat and entries
	s.await("its calls are held", func() bool { return s.wire.waiting() == calls })
	if err := a.Remove("c"); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(s.dir, "c")); err != nil {
		t.Fatal(err)
	}
	fail := s.wire.pass()
	s.open("c", StartMember)
	s.join("a", "c")
	noted := func() time.Time {
		a.leaderWatch.mu.Lock()
		defer a.leaderWatch.mu.Unlock()
		return a.leaderWatch.failed["c"].noted
	}
	before := noted()
	fail()
	s.await("the failure is noted", func() bool { return noted().After(before) })
	s.await("c answers", func() bool {
		list, err := a.Servers()
		c, _ := find(list, "c")
		return err == nil && c.Silent.IsZero()
	})
}

// With two of three lost, nothing is committed; when one returns, all committed entries are there.
func TestNoMajority(t *testing.T) {
	t.Parallel()
	s := begin(t, electing)
	s.commit("a", 1, "n1")
	s.close("b")
	s.close("c")
	s.await("a leads no more", func() bool { name, _ := s.all["a"].Leader(); return name == "" })
	if err := s.all["a"].Commit(nodeEntry(s.all["a"].raft.CurrentTerm(), 2, "n2")); err == nil {
		t.Error("one of three has committed")
	}
	s.open("b", StartNever)
	s.leader("a", "b")
	s.agree("[n1]")
}

// Servers are added, removed and refused.
func TestServersChange(t *testing.T) {
	s := begin(t, steady)
	a := s.all["a"]
	if err := a.Remove("x"); !errors.Is(err, ErrUnknownServer) {
		t.Errorf("removing an unknown server: %v", err)
	}
	if _, err := s.all["b"].Enrol("d", "127.0.0.1:1", 0); !errors.Is(err, ErrNotLeader) {
		t.Errorf("a follower takes one in: %v", err)
	}
	s.close("c")
	s.await("c is silent", func() bool {
		list, err := a.Servers()
		c, _ := find(list, "c")
		return err == nil && !c.Silent.IsZero()
	})
	if err := a.Remove("b"); !errors.Is(err, ErrServers) {
		t.Errorf("removing the only other that answers: %v", err)
	}
	if err := a.Remove("c"); err != nil {
		t.Errorf("removing one that is dead: %v", err)
	}
	s.open("d", StartMember)
	for range 2 {
		if voter, err := a.Enrol("d", s.plug["d"].Addr().String(), 0); voter || err != nil {
			t.Errorf("a server without anything of the log votes: %v, %v", voter, err)
		}
	}
	s.join("a", "d")
	s.commit("a", 1, "n1")
	s.agree("[n1]")
	if err := a.StepDown(); err != nil {
		t.Errorf("stepping down: %v", err)
	}
	next, _ := s.leader("b", "d")
	s.await("a can be removed", func() bool { return s.all[next].Remove("a") == nil })
	other := map[string]string{"b": "d", "d": "b"}[next]
	s.await(other+" can be removed", func() bool { return s.all[next].Remove(other) == nil })
	if err := s.all[next].Remove(next); !errors.Is(err, ErrServers) {
		t.Errorf("removing the last: %v", err)
	}
	if err := s.all[next].StepDown(); !errors.Is(err, ErrServers) {
		t.Errorf("the last one steps down: %v", err)
	}
}

// The log of a server from a cluster without certificates gets a name once, and keeps its state.
func TestNameComesLater(t *testing.T) {
	s := newCluster(t, 1)
	lone, err := Open(Options{Dir: filepath.Join(s.dir, "a")})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(lone.Commit(nodeEntry(lead(t, lone), 1, "n1")), lone.Close()); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		lead(t, s.open("a", StartCluster))
		s.agree("[n1]")
		s.await("the address is known", func() bool {
			list, err := s.all["a"].Servers()
			return err == nil && len(list) == 1 && list[0].Name == "a" && list[0].Address == s.plug["a"].Addr().String() && list[0].Voter
		})
		s.close("a")
		delete(s.plug, "a")
	}
	if r, err := Open(
		Options{Dir: filepath.Join(s.dir, "new"), Network: s.wire.plug(t, "a", "127.0.0.1:0"), Name: "a", Address: "127.0.0.1:1", Start: StartNever},
	); !errors.Is(
		err,
		ErrDirectory,
	) {
		t.Errorf("a server that has lost its state: %v, %v", r, err)
	}
	for _, o := range []Options{{}, {Network: s.wire.plug(t, "b", "127.0.0.1:0"), Name: "b", Address: "127.0.0.1:1"}} {
		o.Dir = filepath.Join(s.dir, "a")
		if r, err := Open(o); !errors.Is(err, ErrDirectory) {
			t.Errorf("another server's directory: %v, %v", r, err)
		}
	}
}

// Many concurrent calls of Verify share few rounds, and each gets an answer.
func TestVerifyTogether(t *testing.T) {
	t.Parallel()
	s := begin(t, electing)
	var all sync.WaitGroup
	for range 100 {
		all.Go(func() {
			if err := s.all["a"].Verify(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	s.close("b")
	s.close("c")
	for range 10 {
		all.Go(func() {
			if err := s.all["a"].Verify(t.Context()); err == nil {
				t.Error("one of three leads")
			}
		})
	}
	all.Wait()
}

func TestSuccessor(t *testing.T) {
	us := Server{Name: "a", Voter: true, Leader: true}
	silent := Server{Name: "b", Voter: true, Silent: time.Unix(1, 0)}
	behind := Server{Name: "c", Voter: true, Behind: 7}
	learner := Server{Name: "d"}
	best := Server{Name: "e", Voter: true, Behind: 1}
	for _, test := range []struct {
		list []Server
		want string
	}{
		{[]Server{us, silent, behind, learner, best}, "e"},
		{[]Server{best, behind, us}, "e"},
		{[]Server{us, silent, behind}, "c"},
		{[]Server{us, silent, learner}, ""},
		{[]Server{us}, ""},
	} {
		if got, ok := successor(test.list, "a"); got.Name != test.want || ok != (test.want != "") {
			t.Errorf("of %v: %q, %v", test.list, got.Name, ok)
		}
	}
}
