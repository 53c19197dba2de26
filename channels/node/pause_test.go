package node

import (
	"score/channels"
	"score/channels/abi"
	"score/tests/await"
	"testing"
	"time"
)

// TestPause: while a job's processes are to stand still its contexts stay as they are, and nobody
// drives them; when they run again the agent drives for who computes.
func TestPause(t *testing.T) {
	c, zero, one := twoRanks(t)
	await.That(t, "the agent drives", func() bool { return mode(c.jobs[1]) == ModeArmed })
	for range 20 {
		c.jobs[1].Pause()
		await.That(t, "the agent leaves it alone", func() bool { return mode(c.jobs[1]) == ModePaused })
		zero.send(1, "x")
		taken := one.img.Counter(abi.LockTaken)
		for start := time.Now(); time.Since(start) < 5*time.Millisecond; {
			zero.poll()
		}
		if now := one.img.Counter(abi.LockTaken); now != taken || one.img.Away() {
			t.Fatalf("the agent took the lock %d times, away %v", now-taken, one.img.Away())
		}
		if zero.settled() {
			t.Fatal("somebody answered")
		}
		c.jobs[1].Resume()
		await.That(t, "it is acknowledged", zero.settled)
	}
	for range 20 {
		if got := one.receiveDriven(); got != "x" {
			t.Fatalf("%q", got)
		}
	}
}

// TestPauseOfPolling: a context whose process polls all the time is looked at seldom, also across
// pauses, and the agent still finds out when it computes. The process polls once between two looks,
// however slow the machine is.
func TestPauseOfPolling(t *testing.T) {
	c, zero, _ := twoRanks(t)
	context, l := c.jobs[0].list()[0], c.nodes[0].loop
	for _, looks := range []int{calmChecks, calmChecks, steadyChecks, steadyChecks} {
		await.That(t, "it is known to poll", func() (known bool) {
			l.do(func() {
				for range looks {
					zero.poll()
					l.checkContext(context, channels.Nanos())
				}
				known = context.driven >= looks
			})
			return known
		})
		c.jobs[0].Pause()
		await.That(t, "it is left alone", func() bool { return mode(c.jobs[0]) == ModePaused })
		c.jobs[0].Resume()
		await.That(t, "it is watched again", func() bool { zero.poll(); return mode(c.jobs[0]) == ModeWatched })
	}
	await.That(t, "the agent drives", func() bool { return mode(c.jobs[0]) == ModeArmed }) // zero computes now
}

// TestPausedEnd: what a rank has sent that is paused, and that its job is removed, still arrives.
func TestPausedEnd(t *testing.T) {
	c, zero, one := twoRanks(t)
	await.That(t, "the agents drive", func() bool { return mode(c.jobs[1]) == ModeArmed })
	c.jobs[0].Pause()
	await.That(t, "the agent leaves it alone", func() bool {
		one.send(0, "y")
		return mode(c.jobs[0]) == ModePaused
	})
	c.jobs[1].Pause()
	one.send(0, "last")
	c.jobs[1].Ended(1)
	over := make(chan struct{})
	removed := make(chan error)
	go func() { removed <- c.jobs[1].RemoveAfter(over, time.Second) }()
	c.jobs[0].Resume()
	for zero.receive() != "last" {
		continue
	}
	close(over)
	if err := <-removed; err != nil {
		t.Error(err)
	}
}
