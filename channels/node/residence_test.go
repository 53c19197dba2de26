package node

import (
	"fmt"
	"score/channels"
	"score/channels/abi"
	"score/channels/residence"
	"score/flowctl"
	"score/tests/await"
	"testing"
	"time"
)

// pair is a job on two nodes, and who switches it.
func pair(t *testing.T) (c *cluster, s []*switcher) {
	c = newCluster(t, 2, Config{})
	return c, c.switchers(t, testKey+1)
}

func (s *switcher) away() bool {
	for _, c := range s.job.Contexts() {
		return c.Away
	}
	return false
}

// TestOpenedWhileAway: a context that is opened while its job is away is away from the start, and
// gets what was sent when the job is back.
func TestOpenedWhileAway(t *testing.T) {
	c, s := pair(t)
	if o := s[1].leave(t); o.Contexts != 0 {
		t.Fatalf("%+v", o)
	}
	zero, one := c.join(t, jobsOf(s), 0, 1), c.join(t, jobsOf(s), 1, 1)
	await.That(t, "it is away", s[1].away)
	zero.send(1, "early")
	await.That(t, "it is refused", func() bool {
		zero.poll()
		peers, err := s[0].job.Peers(1, 0)
		return err == nil && len(peers) == 1 && peers[0].Sender.Hold == flowctl.HeldAway
	})
	if one.driver.Enter() {
		t.Fatal("a process that is away drives")
	}
	s[1].back(t)
	if got := one.receive(); got != "early" {
		t.Fatal(got)
	}
	await.That(t, "it is acknowledged", zero.settled)
}

// TestConnected: the first context of a job is reported, once.
func TestConnected(t *testing.T) {
	c := newCluster(t, 2, Config{})
	told := make(chan *Job, 8)
	c.configure = func(_ int, config *JobConfig) { config.Connected = func(j *Job) { told <- j } }
	jobs, _ := c.add(t, testKey+1)
	c.join(t, jobs, 0, 1)
	c.join(t, jobs, 0, 2)
	if got := <-told; got != jobs[0] || len(told) != 0 {
		t.Fatalf("told %d more", len(told))
	}
}

// TestAwayIsQuiet: no timer of a job runs that is away, though something of it is unanswered.
func TestAwayIsQuiet(t *testing.T) {
	c, s := pair(t)
	zero := c.join(t, jobsOf(s), 0, 1)
	c.join(t, jobsOf(s), 1, 1)
	s[1].leave(t)
	for i := range 10 {
		zero.send(1, fmt.Sprint(i))
	}
	s[0].leave(t)
	far := func() int64 { return channels.Nanos() + int64(time.Hour) }
	for _, n := range c.nodes {
		await.That(t, "nothing is due", func() (still bool) {
			n.loop.do(func() { still = n.loop.armTimer() < 0 && n.loop.armedFor > far() })
			return still
		})
	}
}

// TestHolder: a process that does not let go of the lock is left out, and follows when it does.
func TestHolder(t *testing.T) {
	c, s := pair(t)
	zero, one := c.join(t, jobsOf(s), 0, 1), c.join(t, jobsOf(s), 1, 1)
	await.That(t, "the lock", one.driver.Enter)
	if o := s[1].step(t, StepRevoke, time.Millisecond); o.Held != 1 || o.Contexts != 1 {
		t.Errorf("revoke: %+v", o)
	}
	s[1].step(t, StepFlush, time.Millisecond)
	if o := s[1].step(t, StepSave, time.Second); o.Held != 1 || o.Flushed+o.CutOff != 0 {
		t.Errorf("save: %+v", o)
	}
	one.driver.Leave()
	await.That(t, "it is away", s[1].away)
	s[1].back(t)
	zero.send(1, "x")
	one.receive()

	// And one that comes back with the lock in hand.
	await.That(t, "the lock", one.driver.Enter)
	s[1].leave(t)
	s[1].back(t)
	one.driver.Leave()
	zero.send(1, "y")
	if got := one.receive(); got != "y" {
		t.Fatal(got)
	}
}

// TestOrdersReplaced: whatever was ordered before and not awaited, the last order holds.
func TestOrdersReplaced(t *testing.T) {
	c, s := pair(t)
	zero, one := c.join(t, jobsOf(s), 0, 1), c.join(t, jobsOf(s), 1, 1)
	for round := range 60 {
		for k := range round % 7 {
			step := Step(1 + (round*5+k*3)%4)
			s[1].number++
			s[1].job.Order(step, s[1].number, channels.Nanos()+int64(100*time.Microsecond))
			if k%2 == 0 {
				c.nodes[1].loop.do(func() {})
			}
		}
		if round%3 == 0 {
			s[1].step(t, StepSave, time.Second)
			if !s[1].away() {
				t.Fatal("saved, and not away")
			}
		}
		s[1].back(t)
		text := fmt.Sprint(round)
		zero.send(1, text)
		if got := one.receive(); got != text {
			t.Fatalf("%q instead of %q", got, text)
		}
	}
}

// TestRemovedInEachStep: a job may end in any step; the step's end is reported all the same, and
// others go on.
func TestRemovedInEachStep(t *testing.T) {
	for step := StepRevoke; step <= StepLoad; step++ {
		t.Run(fmt.Sprint(step), func(t *testing.T) {
			c, s := pair(t)
			zero, one := c.join(t, jobsOf(s), 0, 1), c.join(t, jobsOf(s), 1, 1)
			zero.send(1, "x")
			held := one.driver.Enter() // so that the revoke lasts
			over := false
			for k := StepRevoke; k <= step; k++ {
				s[1].number++
				_, over = s[1].job.Order(k, s[1].number, channels.Nanos()+int64(time.Minute))
				c.nodes[1].loop.do(func() {})
			}
			if err := s[1].job.Remove(time.Millisecond); err != nil {
				t.Error(err)
			}
			if held {
				one.driver.Leave()
			}
			for !over {
				select {
				case o := <-s[1].outcomes:
					over = o.Number == s[1].number
				case <-time.After(patience):
					t.Fatal("the step is never over")
				}
			}
			if o := s[1].step(t, StepSave, time.Second); o.Contexts != 0 {
				t.Errorf("after its end: %+v", o)
			}
			c.nodes[1].Close()
			if o, over := s[1].job.Order(StepLoad, 9, 0); !over || o.Step != 0 {
				t.Errorf("a closed node takes an order: %+v", o)
			}
		})
	}
}

// TestDiedWhileAway: what a rank sent before it died arrives when its job is back, then the news.
func TestDiedWhileAway(t *testing.T) {
	c, s := pair(t)
	zero, one := c.join(t, jobsOf(s), 0, 1), c.join(t, jobsOf(s), 1, 1)
	zero.send(1, "first")
	one.receive()
	s[1].leave(t)
	zero.send(1, "last")
	s[0].leave(t)
	s[0].job.Ended(0)
	s[1].back(t)
	s[0].back(t)
	if got := one.receive(); got != "last" {
		t.Fatal(got)
	}
	await.That(t, "the death is known", func() bool {
		one.poll()
		_, gone := one.driver.Gone()
		return gone
	})
}

// TestLastMessage: a job that ends on a node drives on until peers are back that are away.
func TestLastMessage(t *testing.T) {
	c, s := pair(t)
	zero, one := c.join(t, jobsOf(s), 0, 1), c.join(t, jobsOf(s), 1, 1)
	zero.send(1, "first")
	one.receive()
	s[1].leave(t)
	zero.send(1, "last")
	await.That(t, "closed", func() bool {
		if !zero.driver.Enter() {
			return false
		}
		zero.img.SetState(abi.StateClosed)
		zero.driver.Leave()
		return true
	})
	s[0].leave(t)
	removed := make(chan error, 1)
	const linger = time.Second // time enough for a refusal, on busy processors, too
	begun := time.Now()
	go func() { removed <- s[0].job.Remove(linger) }()
	time.Sleep(3 * linger) // longer than it waits for a peer that says nothing
	s[1].back(t)
	if got := one.receive(); got != "last" {
		t.Fatal(got)
	}
	if err := <-removed; err != nil {
		t.Error(err)
	}
	t.Log("removed after", time.Since(begun))
}

// TestOrderAllocatesNothing: whole switches of a job with contexts. What the loop itself does
// meanwhile is counted, too.
func TestOrderAllocatesNothing(t *testing.T) {
	c, s := pair(t)
	c.join(t, jobsOf(s), 0, 1)
	steps := []Step{StepRevoke, StepFlush, StepSave, StepLoad}
	number := uint64(0)
	allocations := testing.AllocsPerRun(200, func() {
		for _, step := range steps {
			number++
			s[0].job.Order(step, number, channels.Nanos()+int64(time.Second))
		}
		s[0].job.Resume()
	})
	if allocations > 1 {
		t.Errorf("%v allocations", allocations)
	}
	for len(s[0].outcomes) > 0 {
		<-s[0].outcomes
	}
}

// TestHeldAgainAndAgain: the next gang waits for a lock that is not given back, but each time less
// long; many such locks are not waited for one after the other, and when they are given all is as
// before.
func TestHeldAgainAndAgain(t *testing.T) {
	c, s := pair(t)
	const firstLimit = 320 * time.Millisecond
	var stubborn []*rank
	for channel := range uint32(MaxChannels) {
		r := c.join(t, jobsOf(s), 0, channel)
		await.That(t, "the lock", r.driver.Enter)
		stubborn = append(stubborn, r)
	}
	shortest := firstLimit
	for i := range residence.MaxStrikes + 2 {
		revoked := s[0].step(t, StepRevoke, firstLimit)
		limit := firstLimit >> min(i, residence.MaxStrikes) / 2 // the loop may begin late
		if revoked.Held != MaxChannels || revoked.Took < limit {
			t.Errorf("switch %d: %+v, after less than %v", i, revoked, limit)
		}
		shortest = min(shortest, revoked.Took) // what a busy machine adds it does not add each time
		s[0].step(t, StepFlush, time.Millisecond)
		s[0].step(t, StepSave, time.Second)
		s[0].back(t)
	}
	if shortest > firstLimit/2 {
		t.Errorf("each switch waited %v and more", shortest)
	}
	for _, r := range stubborn {
		r.driver.Leave()
	}
	if o := s[0].leave(t); o.Held != 0 {
		t.Errorf("all locks are free: %+v", o)
	}
	s[0].back(t)
	await.That(t, "the lock again", stubborn[1].driver.Enter)
	defer stubborn[1].driver.Leave()
	if o := s[0].step(t, StepRevoke, firstLimit); o.Took < firstLimit/2 {
		t.Errorf("all was forgiven: %+v", o)
	}
}
