package node

import (
	"errors"
	"testing"

	"score/channels/handover"
	"score/channels/link"
)

// TestGiven: each rank has as many channels as its job was given, whoever asks for them, and
// those of one rank are not another's.
func TestGiven(t *testing.T) {
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
