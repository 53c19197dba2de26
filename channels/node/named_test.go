package node

import (
	"errors"
	"score/channels"
	"score/channels/link"
	"score/channels/link/tipc"
	"score/tests/await"
	"strings"
	"sync"
	"testing"
	"time"
)

// Tests of nodes that are linked by TIPC. All tests of the package run so, too, where SCORE_LINK is
// "tipc"; tests/tipc does that in a guest.

// needTIPC makes SCORE_LINK "tipc", where the kernel has TIPC.
func needTIPC(t *testing.T) {
	t.Helper()
	if err := tipc.Check(); err != nil {
		t.Skip(err, "(tests/tipc runs this in a guest)")
	}
	t.Setenv(link.EnvTransport, link.TIPC.String())
}

// said keeps what nodes log.
type said struct {
	mu   sync.Mutex
	errs []error
}

func (s *said) log(_ string, _ uint64, _ uint32, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.errs = append(s.errs, err)
}

func (s *said) all() []error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]error(nil), s.errs...)
}

// squat binds a name, and keeps what comes there.
func squat(t *testing.T, name link.Address) *tipc.Port {
	t.Helper()
	file, err := tipc.Listen(name)
	if err != nil {
		t.Fatal(err)
	}
	p, err := tipc.New(file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

// TestNamesBoundByOthers: another program binds all names of a job before it comes. Messages pass
// as ever, it gets none of them and never the key, what it plays back is not taken, and each node
// reports it once.
func TestNamesBoundByOthers(t *testing.T) {
	needTIPC(t)
	names := link.NamesOf(tipc.DefaultType, testKey, 2, 2)
	var squatters []*tipc.Port
	for _, name := range []link.Address{names.Directory(0), names.Directory(1), names.Context(1, 0), names.Context(1, 1)} {
		squatters = append(squatters, squat(t, name))
	}
	var s said
	c := newCluster(t, 2, Config{Log: s.log})
	zero, one := c.join(t, c.jobs, 0, 1), c.join(t, c.jobs, 1, 1)
	const text = "not for others"
	for i := range uint32(20) {
		from, to := []*rank{zero, one}[i%2], []*rank{one, zero}[i%2]
		from.send(1-i%2, text)
		if got := to.receive(); got != text {
			t.Fatalf("%q", got)
		}
		for _, p := range squatters {
			p.Receive(func(from link.Address, data []byte) {
				if _, _, err := link.Parse(data); err == nil || strings.Contains(string(data), text) {
					t.Errorf("the squatter got %q", data)
				}
				p.Queue(from, copy(p.Buffer(), data))
				for _, name := range []link.Address{names.Directory(0), names.Context(1, 1)} {
					p.Queue(name, copy(p.Buffer(), data))
				}
			})
			p.Flush()
		}
	}
	await.That(t, "both nodes tell of the squatter", func() bool { return len(s.all()) == 2 })
	for _, err := range s.all() {
		if !errors.Is(err, ErrSquatter) {
			t.Error(err)
		}
		t.Log(err)
	}
}

// TestNameIsLeft: a node is notified when another one's directory is gone; names beside those of
// its jobs do not concern it.
func TestNameIsLeft(t *testing.T) {
	needTIPC(t)
	left := make(chan uint32, 2)
	var s said
	c := newCluster(t, 2, Config{Log: s.log, Left: func(job uint64, node uint32) {
		if job == testKey {
			left <- node
		}
	}})
	names := link.NamesOf(tipc.DefaultType, testKey, 2, 2)
	squat(t, link.NameAddress(names.Kind, names.Last()+1)).Close()
	squat(t, link.NameAddress(names.Kind+1, names.Base)).Close()
	squat(t, names.Directory(0))
	await.That(t, "node 0 hears of names", func() bool { return len(s.all()) == 1 })
	if err := c.nodes[1].Close(); err != nil {
		t.Fatal(err)
	}
	select {
	case node := <-left:
		if node != 1 {
			t.Errorf("node %d left", node)
		}
	case <-time.After(patience):
		t.Error("nobody has left")
	}
}

// TestNameWithdrawnAndBound: a squatter that comes and goes makes ranks ask, and nothing else.
func TestNameWithdrawnAndBound(t *testing.T) {
	needTIPC(t)
	var s said
	c := newCluster(t, 2, Config{Log: s.log})
	zero, one := c.join(t, c.jobs, 0, 1), c.join(t, c.jobs, 1, 1)
	names := link.NamesOf(tipc.DefaultType, testKey, 2, 2)
	for range 20 {
		squat(t, names.Context(1, 1)).Close()
		zero.send(1, "hello")
		if got := one.receive(); got != "hello" {
			t.Fatalf("%q", got)
		}
		await.That(t, "it is acknowledged", zero.settled)
	}
	if zero.driver.Cause(1) != nil {
		t.Error(zero.driver.Cause(1))
	}
}

// TestDeathByName: the death of a rank is noticed although all notices of it are lost: its name is
// withdrawn, and its directory answers that it ended.
func TestDeathByName(t *testing.T) {
	needTIPC(t)
	c := newCluster(t, 2, Config{})
	zero, one := c.join(t, c.jobs, 0, 1), c.join(t, c.jobs, 1, 1)
	zero.send(1, "hello")
	one.receive()
	await.That(t, "it is acknowledged", zero.settled)
	c.nodes[1].loop.do(func() { c.nodes[1].loop.directory.port = mute{c.nodes[1].loop.directory.port} })
	c.jobs[1].Ended(1)
	await.That(t, "the death is known", func() bool {
		zero.poll()
		return errors.Is(zero.driver.Cause(1), channels.ErrGone)
	})
}

// mute is a port that sends nothing to names.
type mute struct{ link.Port }

func (m mute) Queue(to link.Address, n int) {
	if _, _, ok := to.Name(); !ok {
		m.Port.Queue(to, n)
	}
}

// TestLinksAgree: a job whose map is for another link than the node's is refused.
func TestLinksAgree(t *testing.T) {
	t.Setenv(link.EnvTransport, link.UDP.String())
	c := newCluster(t, 2, Config{})
	names := link.NamesOf(tipc.DefaultType, testKey+1, 2, 2)
	where := mapOf(t, 0, []link.Address{names.Directory(0), names.Directory(1)})
	_, err := c.nodes[0].Add(JobConfig{Key: testKey + 1, Places: where})
	if !errors.Is(err, ErrJob) || !strings.Contains(err.Error(), "linked by something else than udp") {
		t.Error(err)
	}
}
