package replica

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"score/tests/await"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// wire connects the replicas of a test. A replica that is cut off cannot reach others or be
// reached.
type wire struct {
	mu    sync.Mutex
	cut   map[string]bool
	conns map[net.Conn]string // the owner of each
	// Dials of this address wait until held is closed, and fail. Nothing is held while it is nil.
	holds string
	held  chan struct{}
	waits int // how many do, or did
}

func newWire() *wire { return &wire{cut: map[string]bool{}, conns: map[net.Conn]string{}} }

// plug is one replica's end of the wire.
type plug struct {
	net.Listener
	wire *wire
	name string
}

func (w *wire) plug(t *testing.T, name, address string) *plug {
	t.Helper()
	listener, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	return &plug{listener, w, name}
}

func (p *plug) keep(conn net.Conn) (net.Conn, error) {
	p.wire.mu.Lock()
	defer p.wire.mu.Unlock()
	if p.wire.cut[p.name] {
		conn.Close()
		return nil, errors.New("cut off")
	}
	p.wire.conns[conn] = p.name
	return conn, nil
}

func (p *plug) Accept() (net.Conn, error) {
	conn, err := p.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return p.keep(conn)
}

func (p *plug) Dial(_, address string, timeout time.Duration) (net.Conn, error) {
	if held := p.wire.heldFor(address); held != nil {
		<-held
		return nil, errors.New("cut off meanwhile")
	}
	conn, err := net.DialTimeout("tcp", address, timeout)
	if err != nil {
		return nil, err
	}
	return p.keep(conn)
}

// set cuts a replica off, or connects it again.
func (w *wire) set(name string, cut bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cut[name] = cut
	for conn, owner := range w.conns {
		if owner == name {
			conn.Close()
			delete(w.conns, conn)
		}
	}
}

// hold makes dials of an address wait.
func (w *wire) hold(address string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.holds, w.held = address, make(chan struct{})
}

func (w *wire) heldFor(address string) chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	if address != w.holds || w.held == nil {
		return nil
	}
	w.waits++
	return w.held
}

func (w *wire) waiting() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.waits
}

// pass lets new dials pass. Those that wait fail when fail is called.
func (w *wire) pass() (fail func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	held := w.held
	w.held = nil
	return func() { close(held) }
}

// How much slower than usual the elections of a test's cluster are. A machine under load keeps a
// replica waiting for longer than the usual timeouts, and an election that the test does not expect
// changes the leader and the term.
const (
	steady   = 40 // for tests without an election: 20 s
	electing = 6  // for tests that wait for one: 3 s, and up to as much again
)

// testCluster has the replicas of one cluster.
type testCluster struct {
	t      *testing.T
	wire   *wire
	all    map[string]*Replica
	plug   map[string]*plug
	dir    string
	factor time.Duration // of elections
	bound  time.Duration // of a write
}

// newCluster has no replica yet. Its elections are slower by a factor, and others may keep its disk
// busy.
func newCluster(t *testing.T, factor time.Duration) *testCluster {
	t.Helper()
	s := &testCluster{
		t: t, wire: newWire(), all: map[string]*Replica{}, plug: map[string]*plug{}, dir: t.TempDir(), factor: factor, bound: waitBound,
	}
	t.Cleanup(func() {
		for name := range s.all {
			s.close(name)
		}
	})
	return s
}

func (s *testCluster) open(name string, start Start) *Replica {
	s.t.Helper()
	address := "127.0.0.1:0"
	if before := s.plug[name]; before != nil {
		address = before.Addr().String()
	}
	p := s.wire.plug(s.t, name, address)
	r, err := Open(Options{
		Dir: filepath.Join(s.dir, name), Network: p, Name: name, Address: p.Addr().String(), Start: start,
		electionFactor: s.factor, writeBound: s.bound,
	})
	if err != nil {
		s.t.Fatal(err)
	}
	s.all[name], s.plug[name] = r, p
	return r
}

func (s *testCluster) close(name string) {
	s.t.Helper()
	r := s.all[name]
	delete(s.all, name)
	if err := r.Close(); err != nil {
		s.t.Errorf("close %s: %v", name, err)
	}
}

// begin starts replicas a, b and c of a new cluster; a leads.
func begin(t *testing.T, factor time.Duration) *testCluster {
	t.Helper()
	s := newCluster(t, factor)
	s.begin()
	return s
}

func (s *testCluster) begin() {
	s.t.Helper()
	lead(s.t, s.open("a", StartCluster))
	for _, name := range []string{"b", "c"} {
		s.open(name, StartMember)
		s.join("a", name)
	}
}

// join makes the leader add a replica, and waits until it votes.
func (s *testCluster) join(leader, name string) {
	s.t.Helper()
	s.await(name+" votes", func() bool {
		r := s.all[name]
		voter, err := s.all[leader].Enrol(name, s.plug[name].Addr().String(), r.LastIndex())
		if err != nil {
			s.t.Fatal(err)
		}
		return voter
	})
}

func (s *testCluster) await(what string, is func() bool) {
	s.t.Helper()
	if err := await.Until(context.Background(), what, is); err != nil {
		s.t.Fatalf("%v; %s", err, s)
	}
}

// String tells how the replicas are.
func (s *testCluster) String() string {
	var all []string
	for name, r := range s.all {
		of, _ := r.Leader()
		all = append(all, fmt.Sprintf("%s: %v in term %d, led by %q, entries to %d, applied to %d, disk %v, nodes %v",
			name, r.raft.State(), r.raft.CurrentTerm(), of, r.LastIndex(), r.raft.AppliedIndex(), r.Err(), nodes(r)))
	}
	slices.Sort(all)
	return strings.Join(all, "; ")
}

// leader waits until one of the replicas leads the named ones.
func (s *testCluster) leader(among ...string) (name string, term uint64) {
	s.t.Helper()
	s.await("one leads", func() bool {
		for _, other := range among {
			if got, _ := s.all[other].Leader(); got == "" || name != "" && got != name {
				name = ""
				return false
			} else {
				name = got
			}
		}
		return slices.Contains(among, name)
	})
	return name, s.all[name].raft.CurrentTerm()
}

func (s *testCluster) commit(name string, nanos int64, node string) {
	s.t.Helper()
	if err := s.all[name].Commit(nodeEntry(s.all[name].raft.CurrentTerm(), nanos, node)); err != nil {
		s.t.Fatal(err)
	}
}

func (s *testCluster) agree(want string) {
	s.t.Helper()
	for name, r := range s.all {
		s.await(fmt.Sprintf("%s has %s", name, want), func() bool { return fmt.Sprint(nodes(r)) == want })
	}
}

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

// leads returns a channel that is closed once a majority confirms that the replica leads.
func (s *testCluster) leads(name string) <-chan struct{} {
	s.t.Helper()
	done := make(chan struct{})
	if err := s.all[name].Verify(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
	close(done)
	return done
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

// A server that was silent when it was removed, and comes again with nothing of before, is not taken
// for silent.
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

// A heartbeat to a server that was removed fails only after the server is a member again, which is not
// taken for silent.
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

// Servers are added, moved, removed and refused.
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
	s.close("d")
	delete(s.plug, "d")
	s.open("d", StartNever) // at another address
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
