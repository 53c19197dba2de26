// Package localtest makes the ranks of a job in the process of a test.
package localtest

import (
	"score/channels/abi"
	"score/pm"
	"score/pm/local"
	"testing"
)

// Job is a job whose ranks are all in this process.
type Job struct {
	Hub       *local.Hub
	Processes []*pm.Process
	Channels  []*pm.Channel // channel 1 of each rank
}

// Start starts a job on so many nodes, with so many ranks each. It ends with the test.
func Start(t testing.TB, nodes, perNode int, settings pm.Settings) *Job {
	t.Helper()
	hub, err := local.NewCluster(nodes, perNode, abi.Geometry{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := hub.Close(); err != nil {
			t.Error(err)
		}
	})
	job := &Job{Hub: hub}
	for rank := range nodes * perNode {
		job.join(t, rank, settings)
	}
	return job
}

func (j *Job) join(t testing.TB, rank int, settings pm.Settings) {
	t.Helper()
	socket, err := j.Hub.Connect(rank)
	if err != nil {
		t.Fatal(err)
	}
	p, err := pm.Join(socket, settings)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() }) // a test may have closed it
	ch, err := p.Open(1)
	if err != nil {
		t.Fatal(err)
	}
	j.Processes, j.Channels = append(j.Processes, p), append(j.Channels, ch)
}
