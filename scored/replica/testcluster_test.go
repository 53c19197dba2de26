package replica

import (
	"context"
	"errors"
	"fmt"
	"net"
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
