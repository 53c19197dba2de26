package node

import (
	"score/channels/abi"
	"score/tests/await"
	"testing"
	"time"
)

// slumber has a rank wait on its channel until the test, or the function returned, ends it.
func (r *rank) slumber(how uint32) (wake func()) {
	r.t.Helper()
	stop, ended := make(chan struct{}), make(chan struct{})
	r.img.BeginWait(how)
	go func() {
		defer close(ended)
		for !isClosed(stop) {
			r.img.Sleep(time.Hour, func() bool { return isClosed(stop) })
		}
	}()
	wake = func() {
		if !isClosed(stop) {
			close(stop)
			await.That(r.t, "the rank wakes", func() bool { r.img.Wake(); return isClosed(ended) })
			r.img.EndWait()
		}
	}
	r.t.Cleanup(wake)
	await.That(r.t, "the rank sleeps", r.img.Sleeping)
	return wake
}

func isClosed(c chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func cutOf(j *Job) (c Cut) {
	j.Cut(&c)
	return c
}

// TestConsistentCut: what is on its way is seen on the sender's node, who sleeps on each, and both
// also while the job is away.
func TestConsistentCut(t *testing.T) {
	c, s := pair(t)
	if got := cutOf(s[0].job); got.Ranks != 1 || got.Asleep != 0 || len(got.Waits) != 0 {
		t.Errorf("no channel yet: %+v", got)
	}
	zero, one := c.join(t, jobsOf(s), 0, 1), c.join(t, jobsOf(s), 1, 1)
	if got := cutOf(s[0].job); len(got.Waits) != 1 || got.Asleep != 0 {
		t.Errorf("nobody waits: %+v", got)
	}
	s[1].leave(t)
	zero.send(1, "x")
	if got := cutOf(s[0].job); got.Pending != 1 {
		t.Errorf("on its way: %+v", got)
	}
	s[0].leave(t)
	if got := cutOf(s[0].job); got.Pending != 1 {
		t.Errorf("refused: %+v", got)
	}
	s[0].back(t)
	s[1].back(t)
	one.receive()
	await.That(t, "nothing is on its way", func() bool { return cutOf(s[0].job).Pending+cutOf(s[1].job).Pending == 0 })

	before := cutOf(s[1].job)
	wake := one.slumber(abi.WaitMessage)
	asleep := cutOf(s[1].job)
	if asleep.Asleep != 1 || asleep.Waits[0].How != abi.WaitMessage || asleep.Waits[0].Since == before.Waits[0].Since {
		t.Errorf("asleep: %+v", asleep)
	}
	s[1].leave(t)
	if got := cutOf(s[1].job); got.Asleep != 1 || got.Pending != 0 {
		t.Errorf("asleep and away: %+v", got)
	}
	s[1].back(t)
	second := c.join(t, jobsOf(s), 1, 2)
	second.img.BeginWait(abi.WaitMessage)
	if got := cutOf(s[1].job); got.Asleep != 0 || len(got.Waits) != 2 {
		t.Errorf("awake on another channel: %+v", got)
	}
	second.img.EndWait()
	wake()
	if got := cutOf(s[1].job); got.Asleep != 0 {
		t.Errorf("awake: %+v", got)
	}
	s[1].job.Ended(1)
	if got := cutOf(s[1].job); got.Ranks != 0 || len(got.Waits) != 0 {
		t.Errorf("ended: %+v", got)
	}
}
