package node

import (
	"errors"
	"score/channels/handover"
	"score/channels/link"
	"score/channels/rankmap"
	"score/tests/await"
	"testing"
	"time"
)

// TestReservedChannels: each rank has as many channels as its job was given, whoever asks for them,
// and those of one rank are not another's.
func TestReservedChannels(t *testing.T) {
	c := newCluster(t, 1, Config{})
	j, err := c.nodes[0].Add(JobConfig{Key: testKey + 1, Ranks: []uint32{0, 1}, Channels: 2})
	if err != nil {
		t.Fatal(err)
	}
	for _, rank := range []uint32{0, 1} {
		for _, channel := range []uint32{7, 3, 7, 3, 0} {
			if _, err := j.Image(channel, rank); err != nil {
				t.Errorf("channel %d of rank %d: %v", channel, rank, err)
			}
		}
	}
	for _, rank := range []uint32{0, 1} {
		if _, err := j.Image(1, rank); !errors.Is(err, ErrNotGiven) {
			t.Errorf("a third channel of rank %d: %v", rank, err)
		}
		if _, status := j.serveImage(1-rank, handover.Request{Channel: 1, Rank: rank}); status != handover.StatusNotGiven {
			t.Errorf("rank %d's third channel for the other rank: %v", rank, status)
		}
	}
	if got := c.nodes[0].Totals().Contexts; got != 6 {
		t.Errorf("%d contexts", got)
	}
}

// TestNoneGiven: a job without channels has none, also for other nodes.
func TestNoneGiven(t *testing.T) {
	c := newCluster(t, 2, Config{})
	c.configure = func(node int, config *JobConfig) {
		if node == 1 {
			config.Channels = NoChannels
		}
	}
	jobs, _ := c.add(t, testKey+1)
	if _, err := jobs[0].Image(1, 0); err != nil {
		t.Error(err)
	}
	if _, err := jobs[1].Image(1, 1); !errors.Is(err, ErrNotGiven) {
		t.Error(err)
	}
	a := ask(t, c.nodes[1])
	if got := a.where(link.Head{Job: testKey + 1, Channel: 1, From: 0, To: 1}); got.Status != link.StatusNotYet {
		t.Errorf("another node is told %v", got.Status)
	}
}

// lingering makes a job on node 0 that has ended everywhere, and whose one context waits for the
// answer of a node that is gone. removed tells its end.
func lingering(t *testing.T, channels int) (c *cluster, removed chan error) {
	t.Helper()
	c = newCluster(t, 2, Config{Channels: channels})
	zero, one := c.join(t, c.jobs, 0, 1), c.join(t, c.jobs, 1, 1)
	zero.send(1, "first")
	one.receive()
	if err := c.nodes[1].Close(); err != nil {
		t.Fatal(err)
	}
	zero.send(1, "nobody reads this")
	c.jobs[0].Ended(0)
	over := make(chan struct{})
	close(over)
	removed = make(chan error, 1)
	go func() { removed <- c.jobs[0].RemoveAfter(over, patience) }()
	l := c.nodes[0].loop
	await.That(t, "lingers", func() (so bool) {
		l.do(func() { so = len(l.rest) == 1 })
		return so
	})
	return c, removed
}

// TestRoomForTheNext: what is left of an ended job gives its place on the network to the next that
// opens a context, and keeps it where there is room for both.
func TestRoomForTheNext(t *testing.T) {
	c, removed := lingering(t, 2)
	j := c.addTo(t, testKey+1, 0)
	for channel := range uint32(2) {
		select {
		case err := <-removed:
			t.Fatalf("gone with %d contexts of the next job: %v", channel, err)
		default:
		}
		if _, err := j.Image(channel+1, 0); err != nil {
			t.Fatal(err)
		}
	}
	awaitRoom(t, removed)
}

// TestRoomForReturningGang: the same for a gang that comes on.
func TestRoomForReturningGang(t *testing.T) {
	c, removed := lingering(t, 1)
	j := c.addTo(t, testKey+1, 0)
	j.Order(StepSave, 1, 0)
	await.That(t, "the job is away", func() (so bool) {
		c.nodes[0].loop.do(func() { so = !j.order.queued.Load() })
		return so
	})
	if _, err := j.Image(1, 0); err != nil {
		t.Fatal(err)
	}
	l := c.nodes[0].loop
	await.That(t, "its context is away", func() (so bool) {
		l.do(func() { so = len(l.byEvent) == 2 && l.resident() == 1 })
		return so
	})
	j.Order(StepLoad, 2, 0)
	awaitRoom(t, removed)
	l.do(func() {
		if n := l.resident(); n != 1 {
			t.Errorf("%d contexts are resident", n)
		}
	})
}

func awaitRoom(t *testing.T, removed <-chan error) {
	t.Helper()
	select {
	case err := <-removed:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(patience / 2):
		t.Error("the ended job's context is still there")
	}
}

// addTo adds a job with a rank on each node, to one of them.
func (c *cluster) addTo(t *testing.T, key uint64, node int) *Job {
	t.Helper()
	where, err := rankmap.New(uint32(node), c.directories(key), []uint32{0, 1})
	if err != nil {
		t.Fatal(err)
	}
	j, err := c.nodes[node].Add(JobConfig{Key: key, Places: where})
	if err != nil {
		t.Fatal(err)
	}
	return j
}
