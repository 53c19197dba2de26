package node

import (
	"errors"
	"runtime"
	"score/channels"
	"score/channels/abi"
	"score/channels/handover"
	"score/channels/link"
	"score/tests/await"
	"strings"
	"sync"
	"testing"
	"time"
)

// gone polls until the rank gets a death.
func (r *rank) gone() (dead uint32) {
	r.t.Helper()
	await.That(r.t, "a death becomes known", func() (ok bool) {
		r.poll()
		dead, ok = r.driver.Gone()
		return ok
	})
	return dead
}

// TestDeath: ranks on other nodes learn of a death, whether they ever had to do with the dead rank
// or only wait; what it had sent comes first.
func TestDeath(t *testing.T) {
	for name, faults := range map[string]link.Faults{"perfect": {}, "lossy": {Loss: 0.3, Seed: 5}} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, 3, Config{Faults: faults})
			zero, one, two := c.join(t, c.jobs, 0, 1), c.join(t, c.jobs, 1, 1), c.join(t, c.jobs, 2, 1)
			for range 20 {
				one.send(0, "last words")
			}
			c.jobs[1].Ended(1)
			c.jobs[1].Ended(1)
			for range 20 {
				if got := zero.receive(); got != "last words" {
					t.Errorf("%q", got)
				}
			}
			if faults.None() { // three datagrams may all be lost
				if dead := two.gone(); dead != 1 {
					t.Errorf("rank %d died", dead)
				}
			}
			zero.driver.Enter()
			_ = zero.driver.Send(1, []byte("are you there?"), true, channels.Nanos())
			zero.driver.Leave()
			if dead := zero.gone(); dead != 1 {
				t.Errorf("rank %d died", dead)
			}
		})
	}
}

// TestDeathsBefore: contexts of one node that are made after a death know of it, and earlier ones
// are notified.
func TestDeathsBefore(t *testing.T) {
	checkLeaks(t)
	n, err := Open(Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	j, err := n.Add(JobConfig{Key: testKey, Ranks: []uint32{0, 1, 2}})
	if err != nil {
		t.Fatal(err)
	}
	image := func(rank uint32) *channels.Image {
		img, err := j.Image(1, rank)
		if err != nil {
			t.Fatal(err)
		}
		return img
	}
	image(0)
	before := image(1)
	j.Ended(0)
	j.Ended(7)
	for rank, want := range []uint32{abi.StateGone, abi.StateOpen, abi.StateOpen} {
		if got := image(uint32(rank)).State(); got != want {
			t.Errorf("rank %d: state %d", rank, got)
		}
	}
	if !before.PeerGone(0) || !image(2).PeerGone(0) || image(0).PeerGone(0) {
		t.Error("who knows of the death is wrong")
	}
	if before.Owner(abi.RoleAgent).Pid == 0 {
		t.Error("nobody plays the agent")
	}
}

// TestLinger: a job that is removed is driven until what its ranks sent has arrived; ranks that
// do not answer are waited for within a bound.
func TestLinger(t *testing.T) {
	c := newCluster(t, 2, Config{Faults: link.Faults{Loss: 0.2, Seed: 9}})
	other, _ := c.add(t, testKey+1)
	unheard := c.join(t, other, 1, 1)
	zero := c.join(t, c.jobs, 0, 1)
	for range 200 {
		zero.send(1, "for later")
	}
	zero.img.SetState(abi.StateClosed)
	c.jobs[0].Ended(0)
	if err := c.jobs[0].Remove(patience); err != nil {
		t.Fatal(err)
	}
	one := c.join(t, c.jobs, 1, 1)
	for range 200 {
		one.receiveDriven()
	}
	if err := c.nodes[0].Close(); err != nil {
		t.Fatal(err)
	}
	unheard.send(0, "nobody is there any more")
	start := time.Now()
	if err := other[1].Remove(20 * time.Millisecond); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(start); took < 20*time.Millisecond {
		t.Errorf("gave up after %v", took)
	}
}

// TestRemove hangs up on ranks, may be called again, and leaves nothing behind.
func TestRemove(t *testing.T) {
	c := newCluster(t, 2, Config{})
	zero := c.join(t, c.jobs, 0, 1)
	j := c.jobs[0]
	for range 2 {
		if err := j.Remove(0); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := zero.conn.Image(2, handover.Own); !errors.Is(err, handover.ErrLost) {
		t.Errorf("asked afterwards: %v", err)
	}
	if _, err := j.Image(2, 0); !errors.Is(err, ErrClosed) {
		t.Errorf("image: %v", err)
	}
	if s := j.Contexts(); len(s) != 0 {
		t.Errorf("%+v", s)
	}
	if _, err := j.Peers(1, 0); !errors.Is(err, ErrContext) {
		t.Errorf("peers: %v", err)
	}
	j.Ended(0)
	j.peerEnded(1, 1, link.EndDied)
	server, file, err := handover.Pair()
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if err := j.Serve(server, 0); !errors.Is(err, ErrClosed) {
		t.Errorf("serve: %v", err)
	}
	if n := c.nodes[0].shares.count(); n != 0 {
		t.Errorf("%d contexts are left", n)
	}
	if _, err := c.nodes[0].Add(JobConfig{Key: testKey, Places: c.where[0]}); err != nil {
		t.Errorf("the same job again: %v", err)
	}
}

func TestPeers(t *testing.T) {
	c := newCluster(t, 3, Config{})
	zero, one := c.join(t, c.jobs, 0, 1), c.join(t, c.jobs, 1, 1)
	zero.send(1, "x")
	one.receive()
	await.That(t, "it is acknowledged", zero.settled)
	peers, err := c.jobs[0].Peers(1, 0)
	if err != nil {
		t.Fatal(err)
	}
	if len(peers) != 1 || peers[0].Rank != 1 || peers[0].Sender.Acked != peers[0].Sender.Queued {
		t.Errorf("%+v", peers)
	}
	if _, err := c.jobs[0].Peers(2, 0); !errors.Is(err, ErrContext) {
		t.Error(err)
	}
	s := c.jobs[0].Contexts()
	if len(s) != 1 || s[0].State != abi.StateOpen || s[0].Owner.Pid == 0 || s[0].Address.None() || s[0].Geometry.Ranks != 3 {
		t.Errorf("%+v", s)
	}
}

// TestPeersOfABusyRank: a rank that holds the driver lock when it is checked, since it just lost
// its CPU, is checked once it lets go; a rank that does not let go is given up.
func TestPeersOfABusyRank(t *testing.T) {
	c := newCluster(t, 2, Config{})
	zero, one := c.join(t, c.jobs, 0, 1), c.join(t, c.jobs, 1, 1)
	zero.send(1, "x")
	one.receive()
	await.That(t, "the lock", zero.driver.Enter)
	if _, err := c.jobs[0].Peers(1, 0); !errors.Is(err, channels.ErrHolder) {
		t.Errorf("held for good: %v", err)
	}
	zero.driver.Leave()
	// A machine that has much else to do may give the rank its CPU too late.
	await.That(t, "a rank that lets go in time", func() bool {
		await.That(t, "the lock", zero.driver.Enter)
		var rank sync.WaitGroup
		before := zero.img.Counter(abi.LockTimeouts)
		rank.Go(func() {
			for zero.img.Counter(abi.LockTimeouts) == before {
				runtime.Gosched()
			}
			zero.driver.Leave()
		})
		peers, err := c.jobs[0].Peers(1, 0)
		rank.Wait()
		return err == nil && len(peers) == 1
	})
}

// TestSlowReader: a rank ends while its peer is in no hurry, and so does its node's part of the
// job. What it sent before it closed its end arrives, however late, and the death is reported
// before the node forgets the job.
func TestSlowReader(t *testing.T) {
	c := newCluster(t, 3, Config{})
	zero, one, two := c.join(t, c.jobs, 0, 1), c.join(t, c.jobs, 1, 1), c.join(t, c.jobs, 2, 1)
	long := strings.Repeat("x", 1400)
	sent := 0
	for spuriousWakes := 0; spuriousWakes < 1000 || sent < 100; { // until the inbox and the send buffer are full
		if !zero.try(1, long) {
			spuriousWakes++
			continue
		}
		sent, spuriousWakes = sent+1, 0
	}
	two.send(0, "hello")
	zero.receive()
	c.join(t, c.jobs, 0, 2) // open when its rank dies
	two2 := c.join(t, c.jobs, 2, 2)
	zero.img.SetState(abi.StateClosed)
	c.jobs[0].Ended(0)
	over, removed := make(chan struct{}), make(chan error, 1)
	go func() { removed <- c.jobs[0].RemoveAfter(over, 0) }()
	if dead := two2.gone(); dead != 0 {
		t.Errorf("rank %d died", dead)
	}
	for i := range sent {
		if i%(sent/20) == 0 {
			time.Sleep(75 * time.Millisecond) // longer in all than the news of a death would wait
		}
		if got := one.receive(); got != long {
			t.Fatalf("message %d of %d: %.20q", i, sent, got)
		}
	}
	if err := <-removed; err != nil {
		t.Error(err)
	}
}

// TestFinishedJobWaitsForNobody: a job that is over everywhere waits for nobody.
func TestFinishedJobWaitsForNobody(t *testing.T) {
	c := newCluster(t, 2, Config{})
	zero := c.join(t, c.jobs, 0, 1)
	one := c.join(t, c.jobs, 1, 1)
	zero.send(1, "first")
	one.receive()
	if err := c.nodes[1].Close(); err != nil {
		t.Fatal(err)
	}
	zero.send(1, "nobody reads this")
	c.jobs[0].Ended(0)
	over, removed := make(chan struct{}), make(chan error, 1)
	go func() { removed <- c.jobs[0].RemoveAfter(over, 0) }()
	select {
	case err := <-removed:
		t.Errorf("the job goes on, and its contexts were given up: %v", err)
	case <-time.After(2 * maxNoticeTime):
	}
	close(over)
	if err := <-removed; err != nil {
		t.Error(err)
	}
}
