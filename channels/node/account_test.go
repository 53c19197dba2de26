package node

import (
	"math"
	"score/channels/abi"
	"score/tests/await"
	"testing"
)

// TestAccount: a job's messages are counted over all its contexts, a few at a time, and stay
// counted when its contexts are gone.
func TestAccount(t *testing.T) {
	c := newCluster(t, 2, Config{})
	zero, one := c.join(t, c.jobs, 0, 1), c.join(t, c.jobs, 1, 1)
	c.join(t, c.jobs, 0, 2)
	for _, r := range []*rank{zero, one} {
		show(r, abi.Sent, 10)
		show(r, abi.SentBytes, 1000)
		show(r, abi.Received, 9)
	}
	show(zero, abi.Resent, 3)
	await.That(t, "each was looked at", func() bool { return c.jobs[0].Messages(1).Resent == 3 })
	want := Messages{Contexts: 2, Sent: 10, SentBytes: 1000, Received: 9, Resent: 3}
	if got := c.jobs[0].Messages(MaxAccounted); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	show(zero, abi.Sent, 12)
	if err := c.jobs[0].Remove(0); err != nil {
		t.Fatal(err)
	}
	want.Sent = 12
	if got := c.jobs[0].Messages(MaxAccounted); got != want {
		t.Errorf("after the end %+v, want %+v", got, want)
	}
}

// TestAccountOfLevels: counts of the present state may fall.
func TestAccountOfLevels(t *testing.T) {
	c := newCluster(t, 2, Config{})
	zero, other := c.join(t, c.jobs, 0, 1), c.join(t, c.jobs, 0, 2)
	show(zero, abi.RendezvousOpen, 3)
	show(zero, abi.Rendezvous, 5)
	show(other, abi.RendezvousOpen, 2)
	if got := c.jobs[0].Messages(MaxAccounted).Transports; got != (Transports{Rendezvous: 5, RendezvousOpen: 5}) {
		t.Errorf("%+v", got)
	}
	show(zero, abi.RendezvousOpen, 1)
	if got := c.jobs[0].Messages(MaxAccounted).Transports; got != (Transports{Rendezvous: 5, RendezvousOpen: 3}) {
		t.Errorf("after two have ended %+v", got)
	}
}

// TestHostileCounters: whatever a rank writes, the sums neither fall nor overflow.
func TestHostileCounters(t *testing.T) {
	c := newCluster(t, 2, Config{})
	zero := c.join(t, c.jobs, 0, 1)
	var last uint64
	for _, lie := range []uint64{5, 3, math.MaxUint64, 0, math.MaxUint64, 1} {
		show(zero, abi.Sent, lie)
		got := c.jobs[0].Messages(MaxAccounted).Sent
		if got < last || got > math.MaxInt64 {
			t.Errorf("%d after %d", got, last)
		}
		last = got
	}
	if last != math.MaxInt64 {
		t.Errorf("%d sent", last)
	}
}

// show has the rank show a value of a counter.
func show(r *rank, counter abi.Counter, value uint64) {
	img := r.img
	img.AddCounter(counter, value-img.Counter(counter))
}
