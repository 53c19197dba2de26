package node

import (
	"score/channels"
	"score/tests/await"
	"testing"
)

// TestInterval: the agent checks a process less often that drives again by itself after computing
// for a few milliseconds, and as often as ever once it computes for longer.
func TestInterval(t *testing.T) {
	const soon, late = soonBack, soonBack + 1
	cluster, _, _ := twoRanks(t)
	steps := []struct {
		name string
		mode uint32
		idle int
		away int64 // since the agent took over
		want int64
	}{
		{"it polls", modeWatched, 0, 0, tick},
		{"back after the first check without", modeWatched, 1, 0, 2 * tick},
		{"back soon", modeDriven, 0, soon, 4 * tick},
		{"back soon again", modeArmed, 0, soon, 8 * tick},
		{"and again", modeArmed, 0, soon, maxInterval},
		{"its job stood still", modePaused, 0, late, maxInterval},
		{"back late", modeArmed, 0, late, tick},
	}
	c, l := cluster.jobs[0].list()[0], cluster.nodes[0].loop
	l.do(func() {
		c.interval = tick
		for _, s := range steps {
			c.mode.Store(s.mode)
			c.idleChecks, c.tookOver, c.servedBefore = s.idle, 0, c.served()
			c.adaptInterval(s.away)
			if c.interval != s.want {
				t.Errorf("%s: %d ms, want %d", s.name, c.interval/tick, s.want/tick)
			}
		}
		l.watchAgain(c, channels.Nanos(), tick)
	})
}

// TestIntervalOfOverlap: a process that leaves frames to the agent while it computes is not left
// alone for longer.
func TestIntervalOfOverlap(t *testing.T) {
	cluster, zero, one := twoRanks(t)
	c, l := cluster.jobs[0].list()[0], cluster.nodes[0].loop
	l.do(func() { c.interval = 2 * tick })
	const messages = 500 // more than a window has frames
	for range messages {
		zero.send(1, "x") // and from now on it computes
	}
	for range messages {
		one.receiveDriven()
	}
	await.That(t, "the agent drives", func() bool { return mode(cluster.jobs[0]) == ModeArmed })
	l.do(func() {
		zero.poll()
		now := channels.Nanos()
		c.tookOver = now
		if l.checkContext(c, now); c.interval != tick {
			t.Errorf("%d ms between checks, want 1", c.interval/tick)
		}
	})
}
